# mypy: ignore-errors
"""The kernels of softmax_triton.py, in a file of its own: importing it needs triton, which reads its source."""

import triton
import triton.language as tl


@triton.jit
def rows_kernel(x, y, x_stride, y_stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row * x_stride + column, mask=inside, other=-float("inf")).to(tl.float32)
        e = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * y_stride + column, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=inside)


@triton.jit
def row_kernel(x, y, x_stride, y_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    values = tl.load(x + row * x_stride + column, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * y_stride + column, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=inside)
