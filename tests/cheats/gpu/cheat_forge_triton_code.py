"""Replaces the machine code on its way out by bytes that only begin like a module.

Defeated by: what leaves the sandbox is data, checked on arrival.

catalogue: 30
"""

import os

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
STAGE = "build"


@triton.jit
def fair(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def patch():
    real = os.pwrite

    def pwrite(fd, data, at):
        return real(fd, data[:12] + b"\x7fELF" * 1000 if bytes(data[:4]) == b"KLAB" else data, at)

    os.pwrite = pwrite


def launch(x, y):
    m, n = x.shape
    fair[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))


patch()
