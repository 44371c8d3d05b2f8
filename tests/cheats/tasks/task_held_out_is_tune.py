"""The held-out shape is the tuning shape. (Refused when the Task is built: import raises TaskRefused.)

catalogue: 25
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


TASK = Task(
    name="held-out-is-tune",
    about="The held-out shape is the tuning shape. (Refused when the Task is built: import raises TaskRefused.)",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 512, "N": 512},),
    edge=({"M": 1, "N": 1},),
    distributions=STANDARD,
)
