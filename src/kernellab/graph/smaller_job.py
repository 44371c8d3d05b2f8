"""Which of several ways to make a module small runs: tried one after the other in the capture sandbox.

Covered: as for the capture itself (capture_job.py); the reply is one number. Not covered: whether a module that is made
small is still the same problem; that is the affair of whoever made the ways.
"""

from __future__ import annotations

import json
import os
from typing import Any

from kernellab.core.ids import canonical_json
from kernellab.graph.any_device import any_device
from kernellab.graph.export import explain
from kernellab.graph.need_torch import need_torch
from kernellab.graph.source import Request, Subject, choose, import_file, make


def main(fds: list[int]) -> int:
    """Entry: requests with how many elements each may have, reply."""
    request_fd, reply_fd = fds
    asked = json.loads(os.pread(request_fd, os.fstat(request_fd).st_size, 0))
    os.write(reply_fd, canonical_json(answer([(Request(**r), most) for r, most in asked])))
    return 0


def answer(tries: list[tuple[Request, int]]) -> dict[str, Any]:
    """{"found": NUMBER}, or {"refused": why the last one does not run}."""
    need_torch().set_num_threads(1)
    why = "all of them are too large"
    for number, (request, most) in enumerate(tries):
        for device in ("meta", "cpu"):
            try:
                if not _fits(request, most, device):
                    break
                return {"found": number}
            except (Exception, SystemExit) as err:  # noqa: BLE001  sizes that do not go together: others may
                why = explain(err, request.file).what
    return {"refused": why}


def _fits(request: Request, most: int, device: str) -> bool:
    """Whether it is small enough; an exception where it does not run."""
    torch = need_torch()
    module = import_file(request.file, request.text)
    with any_device(device), torch.no_grad():
        subject = make(module, choose(module, request.name), request)
        if _elements(subject) > most:
            return False
        result = subject.module(*subject.inputs)
    results = result if isinstance(result, list | tuple) else [result]
    if not all(r.numel() for r in results if isinstance(r, torch.Tensor)):
        raise ValueError("a result is empty")
    return True


def _elements(subject: Subject) -> int:
    torch = need_torch()
    tensors = [*subject.module.parameters(), *subject.module.buffers(), *subject.inputs]
    return sum(t.numel() for t in tensors if isinstance(t, torch.Tensor))
