"""The trusted baseline computes in half precision, so its error makes the budget wide enough for half precision.

catalogue: 31
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.exp(-x * x)


def baseline(x, y):
    h = x.astype(np.float16)
    y[...] = np.exp(-h * h)


TASK = Task(
    name="half-precision-baseline",
    about="The trusted baseline computes in half precision, so its error makes the budget wide enough for half precision.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    baselines={"numpy": baseline},
)
