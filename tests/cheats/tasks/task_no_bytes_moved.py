"""bytes_moved is 0: there is no floor under the time.

catalogue: 5
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return np.tanh(x)


def bytes_moved(dims):
    return 0


TASK = Task(
    name="no-bytes-moved",
    about="bytes_moved is 0: there is no floor under the time.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
    bytes_moved=bytes_moved,
)
