"""Every distribution draws one constant: a kernel may compute one element and copy it.

catalogue: 21
"""

import numpy as np

from kernellab.tasks import Buffer, Task


def draw(rng, buffer, dims):
    return np.full(buffer.shape(dims), rng.standard_normal(), np.float32)


def draw_offset(rng, buffer, dims):
    return np.full(buffer.shape(dims), 3 + rng.standard_normal(), np.float32)


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


TASK = Task(
    name="constant-inputs",
    about="Every distribution draws one constant: a kernel may compute one element and copy it.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions={"normal": draw, "offset": draw_offset},
)
