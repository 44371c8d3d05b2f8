"""The reference remembers: its second call on the same input returns what it returned first plus a drift.

catalogue: new
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task

CALLS = [0]


def reference(x):
    CALLS[0] += 1
    return np.tanh(x) * (1 + 1e-4 * CALLS[0])


TASK = Task(
    name="stateful-reference",
    about="The reference remembers: its second call on the same input returns what it returned first plus a drift.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
