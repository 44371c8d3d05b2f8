"""Tasks: the declarative format, input distributions, the float64 oracle, and the built-in operators."""

from kernellab.tasks.inputs import (
    STANDARD,
    draw_constant_rows,
    draw_heavy_tail,
    draw_large,
    draw_normal,
    draw_offset,
    sparse,
)
from kernellab.tasks.spec import Buffer, Dims, Sizes, Task, Tunable
from kernellab.tasks.sums import any_order_ulp, product_scale, sum_scale

__all__ = [
    "STANDARD", "Buffer", "Dims", "Sizes", "Task", "Tunable", "any_order_ulp",
    "draw_constant_rows", "draw_heavy_tail", "draw_large", "draw_normal", "draw_offset",
    "product_scale", "sparse", "sum_scale",
]  # fmt: skip
