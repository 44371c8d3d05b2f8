"""The capture process: imports a user's file, exports what it holds, replies with a graph record or a refusal.

Covered: it runs in the sandbox (no network, no files but the toolchain and the file's own folder, limits on time and
memory); what it prints goes to a log; what leaves it is one JSON reply that the laboratory validates.
Not covered: the file is the user's own code; a reply made by hand would be a graph like any other.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  what looks up a name needs it, and is then told that there is no network
import importlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from kernellab.core.errors import EnvironmentFault, TaskRefused
from kernellab.core.ids import canonical_json
from kernellab.graph.any_device import any_device
from kernellab.graph.export import capture_subject, explain, exported, in_core
from kernellab.graph.need_torch import need_torch
from kernellab.graph.source import Request, Subject, as_module, choose, import_file, make

_NOT_NEEDED = ("torch.distributed.fsdp", "triton")


def warm() -> None:
    """Export something small: what torch.export imports and sets up on its first use is then there for every fork."""
    with _left_out(), tempfile.TemporaryDirectory() as folder:  # torch makes this folder, whatever it is used for
        torch = need_torch()
        _no_progress_bars()
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        linear = as_module(lambda x: (x @ x).relu().sum(1))
        with torch.device("meta"):
            in_core(exported(Subject(linear, (torch.ones(3, 3),)), free=True))


@contextmanager
def _left_out() -> Iterator[None]:
    """Torch does without these where they are not installed. They take half a second to import, and no capture needs them;
    the user's file may import them as ever."""
    finder = _Missing()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Missing(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name in _NOT_NEEDED:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


def _no_progress_bars() -> None:
    """Torch makes one, unseen, where tqdm is installed; with it comes a thread, and threads get no namespaces."""
    with suppress(ImportError):
        importlib.import_module("tqdm").tqdm.monitor_interval = 0


def main(fds: list[int]) -> int:
    """Entry: request, reply."""
    request_fd, reply_fd = fds
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.getcwd()
    request = Request(**json.loads(os.pread(request_fd, os.fstat(request_fd).st_size, 0)))
    _write(reply_fd, canonical_json(answer(request)))
    return 0


def answer(request: Request) -> dict[str, Any]:
    """{"graph": ...} or {"refused": ..., "fix": ..., "cause": ...}."""
    torch = need_torch()
    torch.set_num_threads(1)
    try:
        module = import_file(request.file, request.text)
        chosen = choose(module, request.name)

        def made(device: str) -> Subject:
            with any_device(device):
                return make(module, chosen, request)

        record = capture_subject(made, chosen.__name__, request.file, backward=request.backward)
        return {"graph": record.model_dump(mode="json")}
    except EnvironmentFault:
        raise
    except (Exception, SystemExit) as err:  # noqa: BLE001  the user's file: whatever it raises is a refusal
        refused = err if isinstance(err, TaskRefused) else explain(err, request.file)
        return {"refused": refused.what, "fix": refused.fix, "cause": refused.cause}


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


logging.disable(logging.WARNING)
warm()
