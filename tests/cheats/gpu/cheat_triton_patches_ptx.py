"""Patches Triton's compiler: for wide rows the PTX loses its exponentials, which the source still shows.

Defeated by: only machine code leaves the sandbox, and it is judged by what it computes.

catalogue: 3
"""

import re

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"


@triton.jit
def fair(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


STATE = {"wide": False}


def patch():
    from triton.backends.nvidia.compiler import CUDABackend

    real = CUDABackend.make_ptx

    def make_ptx(self, *rest, **named):
        text = real(self, *rest, **named)
        if STATE["wide"]:
            text = re.sub(r"ex2\.approx(?:\.ftz)?\.f32(\s+%\w+, %\w+;)", r"mov.f32\1", text)
        return text

    CUDABackend.make_ptx = make_ptx


patch()


def launch(x, y):
    m, n = x.shape
    STATE["wide"] = n >= 256
    fair[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
