"""bytes_moved is negative: the floor lies below zero.

catalogue: 5
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


def bytes_moved(dims):
    return -(10**9)


TASK = Task(
    name="negative-bytes-moved",
    about="bytes_moved is negative: the floor lies below zero.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    bytes_moved=bytes_moved,
)
