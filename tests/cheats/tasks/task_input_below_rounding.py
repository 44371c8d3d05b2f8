"""The second input is there, but below the rounding of the output's type: a kernel may drop it unseen.

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(a, b):
    return 1000 + np.tanh(a) + 1e-9 * np.tanh(b)


TASK = Task(
    name="input-below-rounding",
    about="The second input is there, but below the rounding of the output's type: a kernel may drop it unseen.",
    inputs=(Buffer("a", ("M", "N")), Buffer("b", ("M", "N"))),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
