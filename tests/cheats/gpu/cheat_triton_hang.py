"""Waits for a value that nobody writes.

Defeated by: a time-out that kills the runner.

catalogue: 32
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("timeout", "lost-worker")
STAGE = "run"


@triton.jit
def wait(x, y, n):
    seen = tl.load(y, volatile=True)
    while seen != 2.0:
        tl.store(y, 1.0)
        seen = tl.load(y, volatile=True)


def launch(x, y):
    wait[(1,)](x, y, x.shape[1])
