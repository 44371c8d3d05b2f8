"""Integer outputs compared with a tolerance: off by one passes.

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.cumsum(x.astype(np.int64), axis=1)


TASK = Task(
    name="integer-not-exact",
    about="Integer outputs compared with a tolerance: off by one passes.",
    inputs=(Buffer("x", ("M", "N"), "int32"),),
    outputs=(Buffer("y", ("M", "N"), "int64"),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
