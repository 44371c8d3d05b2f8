"""The output is the input: a copy passes, or no work at all.

catalogue: 18
"""

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return x.copy()


TASK = Task(
    name="identity",
    about="The output is the input: a copy passes, or no work at all.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
