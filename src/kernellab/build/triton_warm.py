"""Imported by the zygote only: loads Triton and compiles one tiny kernel, so that no job pays for the first time.

A machine without Triton, or with one that does not work, still gets its zygote: the back end then says what is wrong.
"""

from __future__ import annotations

import importlib
import shutil
import tempfile
import traceback

from kernellab.build import triton_job

_KERNEL = """
import triton
import triton.language as tl

@triton.jit
def warm(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + at, e / tl.sum(e, axis=0), mask=at < n)

def launch(x, y):
    warm[(triton.cdiv(x.size, 64),)](x, y, x.size, BLOCK=64)
"""


def warm_up(arch: int = 90) -> str:
    """What went wrong, or ''."""
    folder = tempfile.mkdtemp(prefix="klab-triton-")
    try:
        with triton_job.own_folder(folder), triton_job.WithoutTorch():
            with open(f"{folder}/candidate.py", "w") as file:
                file.write(_KERNEL)
            buffers = [{"shape": [256], "dtype": "bfloat16"}] * 2
            request = {"text": _KERNEL, "name": f"{folder}/candidate.py", "params": {}, "buffers": buffers,
                       "arch": arch, "properties": {"max_shared_mem": 1 << 16}}  # fmt: skip
            reply, _ = triton_job.build(request)
            return str(reply.get("reason", ""))
    except Exception:  # noqa: BLE001  the zygote serves other back ends as well
        return traceback.format_exc()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def forget() -> None:
    """The warm-up's device must not be remembered: jobs have their own target."""
    importlib.import_module("triton.compiler.compiler").max_shared_mem.cache_clear()


try:
    importlib.import_module("triton")
except ImportError:
    FAULT = "Triton is not installed: pip install 'kernellab[cuda]'"
else:
    FAULT = warm_up()
    if not FAULT:
        forget()
