"""A ReLU whose every distribution is negative: the output is all zeros although the reference is fair.

catalogue: 20
"""

import numpy as np

from kernellab.tasks import Buffer, Task


def draw(rng, buffer, dims):
    return -1 - np.abs(rng.standard_normal(buffer.shape(dims), dtype=np.float32))


def draw_far(rng, buffer, dims):
    return -100 - np.abs(rng.standard_normal(buffer.shape(dims), dtype=np.float32))


def reference(x):
    return np.maximum(x, 0)


TASK = Task(
    name="relu-of-negative",
    about="A ReLU whose every distribution is negative: the output is all zeros although the reference is fair.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions={"normal": draw, "far": draw_far},
)
