"""A softmax over one column: the answer is 1 for every input.

catalogue: 21
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


TASK = Task(
    name="degenerate-shapes",
    about="A softmax over one column: the answer is 1 for every input.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 4096, "N": 1},),
    held_out=({"M": 1000, "N": 1},),
    edge=({"M": 1, "N": 1},),
    distributions=STANDARD,
)
