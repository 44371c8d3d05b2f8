"""The trusted baseline is plainly wrong (zeros): four times its error passes anything.

catalogue: 31
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


def baseline(x, y):
    y[...] = 0


TASK = Task(
    name="wrong-baseline",
    about="The trusted baseline is plainly wrong (zeros): four times its error passes anything.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    baselines={"numpy": baseline},
)
