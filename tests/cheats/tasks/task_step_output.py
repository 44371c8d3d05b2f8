"""Outputs are 0 or 1: half precision and every cheaper arithmetic give the same bits.

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return (x > 0).astype(np.float64)


TASK = Task(
    name="step-output",
    about="Outputs are 0 or 1: half precision and every cheaper arithmetic give the same bits.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
