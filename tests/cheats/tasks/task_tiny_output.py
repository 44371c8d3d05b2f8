"""Outputs around 1e-42, zero or next to it in float32: zeros pass.

catalogue: 18
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return 1e-42 * np.tanh(x)


TASK = Task(
    name="tiny-output",
    about="Outputs around 1e-42, zero or next to it in float32: zeros pass.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
