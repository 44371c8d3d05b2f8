"""Model in 1 kernel (_to_copy_1), generated from its graph.

Hypothesis: a program makes a block of columns of some rows; what is the same for all rows is read once for those.
"""

import triton
import triton.language as tl

SPACE = {"GROUPS": [2, 1, 4, 8], "BLOCK": [1024, 512, 256, 2048, 4096], "WARPS": [4, 8, 2, 16, 1]}


@triton.jit
def _one_and_erf(x):
    far = tl.abs(x)
    p = (1.7699392628856003e-05 * far - 0.0004448378167580813) * far + 0.004968198947608471
    p = ((p * far - 0.0331244133412838) * far + 0.15118151903152466) * far + 0.9180387854576111
    tail = tl.exp2(-((p * far + 1.6277785301208496) * far + 1.5370378605439328e-05))
    return tl.where(x < 0, tail, 2.0 - tail)


@triton.jit
def step0(x, out, d0: tl.constexpr, d1: tl.constexpr, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if ((1 + d1) // 2) * d0 > 2000000000 or d0 * d1 > 2000000000 else tl.int32
    blocks = tl.cdiv(((1 + d1) // 2), BLOCK)
    first = tl.program_id(0).to(INDEX) // blocks * GROUPS
    at = tl.program_id(0).to(INDEX) % blocks * BLOCK + tl.arange(0, BLOCK)
    mask = at < ((1 + d1) // 2)
    i1 = at
    made0 = ()
    for nth in tl.static_range(GROUPS):
        row = first + nth
        there = row < d0
        i0 = row
        v1 = tl.load(x + i0 * d1 + i1, mask=mask & there, other=0).to(tl.float32)
        v2 = tl.load(x + i0 * d1 + i1 + ((1 + d1) // 2), mask=mask & there, other=0).to(tl.float32)
        made0 = made0 + ((v1 * ((0.5 * v2) * _one_and_erf((v2 * 0.7071067811865476)))),)
    for nth in tl.static_range(GROUPS):
        row = first + nth
        there = row < d0
        i0 = row
        tl.store(out + i0 * ((1 + d1) // 2) + i1, made0[nth], mask=mask & there)


def launch(x, out, GROUPS=2, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[1]
    if GROUPS * BLOCK > 2048 * WARPS:
        raise ValueError("a thread would hold more than 64 elements")
    step0[(triton.cdiv(d0, GROUPS) * triton.cdiv(((1 + d1) // 2), BLOCK),)](x, out, d0=d0, d1=d1, GROUPS=GROUPS, BLOCK=BLOCK, num_warps=WARPS)
