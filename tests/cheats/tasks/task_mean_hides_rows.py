"""A mean over everything: one wrong row in a thousand disappears in the average.

catalogue: 24
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.array([100 + np.tanh(x).mean() * 1e-6])


TASK = Task(
    name="mean-hides-rows",
    about="A mean over everything: one wrong row in a thousand disappears in the average.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", (1,)),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
