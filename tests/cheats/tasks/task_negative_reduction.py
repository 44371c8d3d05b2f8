"""reduction is negative: its square root is NaN.

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


def reduction(dims):
    return -1


TASK = Task(
    name="negative-reduction",
    about="reduction is negative: its square root is NaN.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    reduction=reduction,
)
