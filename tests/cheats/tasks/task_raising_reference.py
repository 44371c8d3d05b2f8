"""The reference raises.

catalogue: new
"""

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    raise RuntimeError("no answer")


TASK = Task(
    name="raising-reference",
    about="The reference raises.",
    inputs=(Buffer("x", ("M", "N")),),
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    tune=({"M": 512, "N": 512},),
    held_out=({"M": 300, "N": 700},),
    edge=({"M": 1, "N": 1}, {"M": 7, "N": 13}),
    distributions=STANDARD,
)
