"""Adds a static array of 1 MB to the PTX and keeps rows' maxima and sums there from call to call, which no line of
Triton could ask for.

Defeated by: static memory is counted in the machine code itself, not taken from the compiler's word.

catalogue: new
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
STAGE = "build"


@triton.jit
def kept(where):
    return tl.inline_asm_elementwise(
        "{ .reg .u64 p, q; cvt.u64.u32 q, $1; mov.u64 p, klab_kept; add.u64 p, p, q; ld.global.f32 $0, [p]; }",
        "=f,r",
        [where],
        dtype=tl.float32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def keep(where, value):
    return tl.inline_asm_elementwise(
        "{ .reg .u64 p, q; cvt.u64.u32 q, $1; mov.u64 p, klab_kept; add.u64 p, p, q; st.global.f32 [p], $2; mov.u32 $0, 0; }",
        "=r,r,f",
        [where, value],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def remembering(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    place = (row % 80000).to(tl.int32) * 12 + cols * 0
    hit = kept(place) == n + 0.5
    top = tl.where(hit, kept(place + 4), tl.max(a, 0))
    e = tl.exp(a - top)
    total = tl.where(hit, kept(place + 8), tl.sum(e, 0))
    tl.store(y + row * n + cols, e / total, mask=cols < n)
    keep(place + 4, top)
    keep(place + 8, total)
    keep(place, n + 0.5 + cols * 0)


def patch():
    from triton.backends.nvidia.compiler import CUDABackend

    real = CUDABackend.make_ptx

    def make_ptx(self, *rest, **named):
        text = real(self, *rest, **named)
        return text.replace(
            ".address_size 64", ".address_size 64\n.visible .global .align 4 .b8 klab_kept[1048576];", 1
        )

    CUDABackend.make_ptx = make_ptx


patch()


def launch(x, y):
    m, n = x.shape
    remembering[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
