"""The reference gives another answer at every call.

catalogue: 26
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x) + 1e-3 * np.random.default_rng().standard_normal(x.shape)


TASK = Task(
    name="random-reference",
    about="The reference gives another answer at every call.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
