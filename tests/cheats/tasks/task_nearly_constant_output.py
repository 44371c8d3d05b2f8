"""Outputs of 1 plus 1e-9 times something: the constant 1 passes.

catalogue: 18
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return 1 + 1e-9 * np.tanh(x)


TASK = Task(
    name="nearly-constant-output",
    about="Outputs of 1 plus 1e-9 times something: the constant 1 passes.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
