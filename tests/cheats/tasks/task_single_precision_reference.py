"""The reference works in half precision inside: the oracle is worse than the kernels it judges.

catalogue: 31
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x.astype(np.float16)).astype(np.float64)


TASK = Task(
    name="single-precision-reference",
    about="The reference works in half precision inside: the oracle is worse than the kernels it judges.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
