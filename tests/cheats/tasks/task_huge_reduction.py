"""reduction claims 10**18 terms: the square root of that is a licence.

catalogue: 22
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


def reduction(dims):
    return 10**18


TASK = Task(
    name="huge-reduction",
    about="reduction claims 10**18 terms: the square root of that is a licence.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    reduction=reduction,
)
