"""Every distribution draws zeros.

catalogue: 21
"""

import numpy as np

from kernellab.tasks import Buffer, Task


def draw(rng, buffer, dims):
    return np.zeros(buffer.shape(dims), np.float32)


def reference(x):
    return np.tanh(x) + x * x


TASK = Task(
    name="zero-inputs",
    about="Every distribution draws zeros.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions={"normal": draw, "offset": draw},
)
