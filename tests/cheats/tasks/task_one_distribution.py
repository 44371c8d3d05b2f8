"""Only one input distribution. (Refused when the Task is built: import raises TaskRefused.)

catalogue: 20
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


TASK = Task(
    name="one-distribution",
    about="Only one input distribution. (Refused when the Task is built: import raises TaskRefused.)",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions={"normal": STANDARD["normal"]},
)
