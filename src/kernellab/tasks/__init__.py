"""Tasks: the declarative format, input distributions, the float64 oracle, and the built-in operators."""

from kernellab.tasks.inputs import STANDARD, draw_constant_rows, draw_heavy_tail, draw_large, draw_normal, draw_offset
from kernellab.tasks.spec import Buffer, Dims, Sizes, Task, Tunable

__all__ = [
    "STANDARD", "Buffer", "Dims", "Sizes", "Task", "Tunable",
    "draw_constant_rows", "draw_heavy_tail", "draw_large", "draw_normal", "draw_offset",
]  # fmt: skip
