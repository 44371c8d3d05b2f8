"""The output does not depend on the second input.

catalogue: 19
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(a, b):
    return np.tanh(a) + 0 * b


TASK = Task(
    name="ignores-input",
    about="The output does not depend on the second input.",
    inputs=(Buffer("a", ("M", "N")), Buffer("b", ("M", "N"))),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
