"""The build of a solution that compiles: it is imported, made and called once a shape; what it left in its folder is kept.

Compilers run here, files can be written, and nothing of the laboratory's is near: no channel, no buffers, no answers; the
inputs are drawn here and thrown away. What leaves is bytes with names, which only the solution's own later processes see.
Covered: no network, limits on time, memory, files and processes; this process and all it started end before any run begins.
Not covered: a solution that does something else here than later; its later outputs are judged, and nothing of this is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from kernellab.core.ids import canonical_json
from kernellab.graph.need_torch import need_torch
from kernellab.run.host_caches import HEAD, set_folders
from kernellab.run.host_job import bound, call, made, words

_LEFT_OUT = (".o", ".lock", ".d", ".ninja", ".ninja_log", ".ninja_deps")


def main(fds: list[int]) -> int:
    """Entry: set-up, bundle."""
    setup_fd, bundle = fds
    setup: dict[str, Any] = json.loads(os.pread(setup_fd, os.fstat(setup_fd).st_size, 0))
    need_torch().set_num_threads(1)
    need_torch().set_grad_enabled(False)
    set_folders()
    try:
        model, state = made(setup)
        for one in setup["shapes"]:
            inputs, outputs = ([(_drawn(k), None) for k in one[side]] for side in ("inputs", "outputs"))
            call(model, *bound(setup, state, inputs, outputs))
    except (Exception, SystemExit) as err:  # noqa: BLE001  their code: whatever it raises is told
        _write(bundle, canonical_json({"failed": words(err, setup)}), [])
        return 0
    found = list(_files(os.getcwd()))
    listed = [[name, os.path.getsize(path)] for name, path in found]
    _write(bundle, canonical_json({"files": listed}), [path for _, path in found])
    return 0


def _drawn(kind: dict[str, Any]) -> Any:
    """Small numbers that no operator minds; integers may be places in something."""
    torch = need_torch()
    dtype = getattr(torch, kind["dtype"])
    return torch.rand(kind["shape"]).to(dtype) if dtype.is_floating_point else torch.zeros(kind["shape"], dtype=dtype)


def _files(folder: str) -> Iterator[tuple[str, str]]:
    """Plain files by their names below the folder, without what only a second build would read."""
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(where, name)
            if os.path.isfile(path) and not os.path.islink(path) and not name.endswith(_LEFT_OUT):
                yield os.path.relpath(path, folder), path


def _write(fd: int, head: bytes, paths: list[str]) -> None:
    with os.fdopen(fd, "wb") as bundle:
        bundle.write(len(head).to_bytes(HEAD, "little") + head)
        for path in paths:
            with open(path, "rb") as file:
                while block := file.read(1 << 20):
                    bundle.write(block)
