# mypy: ignore-errors
"""The kernel of stencil_triton.py, in a file of its own: importing it needs triton, which reads its source."""

import triton
import triton.language as tl


@triton.jit
def tile_kernel(x, y, height, length, channels, RADIUS: tl.constexpr, T0: tl.constexpr, T1: tl.constexpr,
                T2: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for i in tl.static_range(-RADIUS, RADIUS + 1):
        down = T0 if i == 0 else (T1 if i * i == 1 else T2)
        for j in tl.static_range(-RADIUS, RADIUS + 1):
            across = T0 if j == 0 else (T1 if j * j == 1 else T2)
            r, c = row + i, column + j * channels
            inside = (r >= 0) & (r < height) & (c >= 0) & (c < length)
            total += down * across * tl.load(x + r.to(tl.int64) * length + c, mask=inside, other=0.0).to(tl.float32)
    inside = (row < height) & (column < length)
    tl.store(y + row.to(tl.int64) * length + column, total.to(y.dtype.element_ty), mask=inside)
