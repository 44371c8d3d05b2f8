"""A distribution draws another shape than declared.

catalogue: new
"""

import numpy as np

from kernellab.tasks import Buffer, Task


def draw(rng, buffer, dims):
    return rng.standard_normal((3, 3), dtype=np.float32)


def reference(x):
    return np.tanh(x)


TASK = Task(
    name="draws-wrong-shape",
    about="A distribution draws another shape than declared.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions={"normal": draw, "other": draw},
)
