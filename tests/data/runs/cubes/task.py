
"""Twice the cube of x; the loop leaves NumPy's temporaries out."""
import numpy as np
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x):
    return 2 * x ** 3

def with_numpy(x, y):
    y[...] = np.float32(2) * (x * x * x)

TASK = Task(name="cube", about="2 x^3", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),),
            reference=reference, baselines={"numpy": with_numpy}, tune=({"N": 65536}, {"N": 32768}),
            held_out=({"N": 5003},),
            edge=({"N": 1}, {"N": 7}, {"N": 1025}), distributions=STANDARD)
SPACE = {"STEP": [1, 2, 0, 3], "BAD": [0, 1]}
SOURCE = r"""
void cube(const float *restrict x, float *restrict y, long n) {
    for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]) + BAD;
}
"""
FLAGS = ["-O3"]

def launch(x, y, STEP=1, BAD=0):
    if STEP == 0:
        raise ValueError("a step of nothing")
    kernel("cube")(x, y, x.size)
