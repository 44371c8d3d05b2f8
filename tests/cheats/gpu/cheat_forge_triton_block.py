"""Changes the recorded launches on their way out: 32 threads where the code was compiled for 128.

Defeated by: what leaves the sandbox is data, checked on arrival.
What cannot be seen there (the code still runs) gives wrong results.

catalogue: 30
"""

import json

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = (
    "build-failed",
    "invalid",
    "plan",
    "wrong-output",
    "unwritten",
    "non-finite",
    "nondeterministic",
    "timeout",
    "crash",
)
STAGE = "run"


@triton.jit
def fair(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def patch():
    real = json.dumps

    def dumps(thing, *rest, **named):
        if isinstance(thing, dict) and "plan" in thing:
            for step in thing["plan"]["steps"]:
                step["block"] = [32, 1, 1]
        return real(thing, *rest, **named)

    json.dumps = dumps


def launch(x, y):
    m, n = x.shape
    fair[(m,)](x, y, n, BLOCK=max(256, triton.next_power_of_2(n)), num_warps=4)


patch()
