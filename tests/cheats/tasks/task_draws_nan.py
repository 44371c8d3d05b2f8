"""A distribution draws NaN: whatever comes out is as good as anything.

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def draw_nan(rng, buffer, dims):
    return np.full(buffer.shape(dims), np.nan, np.float32)


def reference(x):
    return np.tanh(x)


TASK = Task(
    name="draws-nan",
    about="A distribution draws NaN: whatever comes out is as good as anything.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions={"nan": draw_nan, **STANDARD},
)
