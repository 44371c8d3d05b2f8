"""Compiles CUDA C++ with NVRTC. Runs inside the build sandbox; no candidate Python is in this process, only C++ text.

The library is loaded when this module is imported, once, in the zygote: a job inherits it. Where the wheels are
missing the import still works and `PROBLEM` says what to install.
Covered: the confinement of a build job. Not covered: faults of NVRTC itself; they end with the job.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
from dataclasses import dataclass, field
from typing import Any

_LOG_KEPT, _PTX_KEPT = 64 << 10, 4 << 20
_INSTALL = "run: pip install 'kernellab[cuda]'"

nvrtc: Any = None
PROBLEM = ""
VERSION = ""


def _load() -> tuple[Any, str, str]:
    """NVRTC, its version, and why there is none."""
    try:
        from cuda.bindings import nvrtc as library

        status, major, minor = library.nvrtcVersion()
    except ImportError as err:
        return None, "", f"NVRTC is not installed ({err}); {_INSTALL}"
    except Exception as err:  # noqa: BLE001  cuda-bindings has an error class of its own for each way not to find it
        return None, "", f"NVRTC does not load ({type(err).__name__}: {str(err).splitlines()[0][:200]}); {_INSTALL}"
    if int(status) != 0:
        return None, "", f"NVRTC does not answer (status {int(status)}); {_INSTALL}"
    return library, _exact(f"{major}.{minor}"), ""


def _exact(version: str) -> str:
    """With the wheel's patch level, where the library comes from a wheel of that version."""
    for wheel in ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu13"):
        try:
            found = importlib.metadata.version(wheel)
        except importlib.metadata.PackageNotFoundError:
            continue
        if found.startswith(version + "."):
            return found
    return version


@dataclass(frozen=True)
class Compiled:
    """`cubin` is None where nothing was compiled; `names` maps name expressions to symbols ('' for none)."""

    cubin: bytes | None
    log: str
    names: dict[str, str] = field(default_factory=dict)
    ptx: str = ""


def compile_source(source: str, name: str, options: list[str], names: list[str]) -> Compiled:
    """`name` stands before the line numbers of error messages."""
    if nvrtc is None:
        return Compiled(None, PROBLEM)
    status, program = nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], [])
    if int(status) != 0:
        return Compiled(None, f"error: NVRTC takes no such text: {status.name}")
    for expression in names:
        nvrtc.nvrtcAddNameExpression(program, expression.encode())
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)[:_LOG_KEPT]
    if int(status) != 0:
        return Compiled(None, log or f"error: {status.name}")
    symbols = {}
    for expression in names:
        status, symbol = nvrtc.nvrtcGetLoweredName(program, expression.encode())
        symbols[expression] = symbol.decode() if int(status) == 0 else ""
    cubin = _bytes(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)[:_PTX_KEPT]
    return Compiled(cubin or None, log, symbols, ptx)


def _bytes(program: Any, size_of: Any, fill: Any) -> bytes:
    status, size = size_of(program)
    buffer = bytearray(size if int(status) == 0 else 0)
    return bytes(buffer) if buffer and int(fill(program, buffer)[0]) == 0 else b""


def _text(program: Any, size_of: Any, fill: Any) -> str:
    return _bytes(program, size_of, fill).rstrip(b"\0 \n").decode(errors="replace")


def main(fds: list[int]) -> int:
    """Sandbox entry: request on the first descriptor, JSON report on the second, machine code on the third.

    A request without a source asks for the version alone.
    """
    request = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
    report: dict[str, Any] = {"version": VERSION, "problem": PROBLEM}
    if "source" in request and not PROBLEM:
        done = compile_source(request["source"], "SOURCE", request["options"], request["names"])
        report |= {"ok": done.cubin is not None, "log": done.log, "names": done.names, "ptx": done.ptx}
        with os.fdopen(os.dup(fds[2]), "wb") as file:
            file.write(done.cubin or b"")
    with os.fdopen(os.dup(fds[1]), "wb") as file:
        file.write(json.dumps(report).encode())
    return 0


nvrtc, VERSION, PROBLEM = _load()
