"""The reference changes its input: the candidate would be judged on other numbers.

catalogue: 15
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    x *= 0
    return np.tanh(x) + 1


TASK = Task(
    name="mutating-reference",
    about="The reference changes its input: the candidate would be judged on other numbers.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
