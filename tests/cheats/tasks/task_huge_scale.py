"""scale() claims magnitudes of 1e12 behind outputs of 1: any answer is within rounding.

catalogue: 22
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


def scale(x):
    return np.full(x.shape, 1e12)


TASK = Task(
    name="huge-scale",
    about="scale() claims magnitudes of 1e12 behind outputs of 1: any answer is within rounding.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    scale=scale,
)
