"""A task whose kernel can be made slower by a known share: y = 2 x after ROUNDS dependent multiply-adds."""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task


def reference(x):
    return 2 * x


TASK = Task(
    name="spin",
    about="a calibrated amount of arithmetic",
    inputs=(Buffer("x", ("N",)),),
    outputs=(Buffer("y", ("N",)),),
    reference=reference,
    baselines={"numpy": lambda x, y: np.multiply(x, np.float32(2), out=y)},
    tune=({"N": 4096},),
    held_out=({"N": 4000},),
    edge=({"N": 7}, {"N": 100}),
    distributions=STANDARD,
)

SOURCE = r"""
void spin(const float *x, float *y, long n) {
    float a = x[0], b = 0.5f;
    for (long i = 0; i < ROUNDS; i++) { a = a * b + 1.0f; __asm__ volatile("" ::: "memory"); }
    for (long i = 0; i < n; i++) y[i] = 2.0f * x[i];
    volatile float sink = a; (void)sink;
}
"""
FLAGS = ["-O2"]
SPACE = {"ROUNDS": [400000, 408000]}


def launch(x, y):
    kernel("spin")(x, y, x.size)  # noqa: F821
