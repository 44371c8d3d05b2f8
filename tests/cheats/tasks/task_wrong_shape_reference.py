"""The reference returns another shape than declared (and it would broadcast).

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x).sum(axis=1, keepdims=True)


TASK = Task(
    name="wrong-shape-reference",
    about="The reference returns another shape than declared (and it would broadcast).",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
