"""The process's number and the clock choose a constant of the kernel: one face samples a quarter of each row.

Harmless: one recording is verified and timed; a wrong face is caught, a fair one is fair.

catalogue: new
"""

import os
import time

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed")
STAGE = "run"
HARMLESS = True
FACE = (os.getpid() ^ time.time_ns() >> 7) & 1


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr, QUICK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0))
    total = tl.sum(e, 0)
    if QUICK:
        total = 4 * tl.sum(tl.where(cols % 4 == 0, e, 0.0), 0)
    tl.store(y + row * n + cols, e / total, mask=cols < n)


def launch(x, y):
    m, n = x.shape
    softmax[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n), QUICK=FACE)
