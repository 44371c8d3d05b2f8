"""What `klab init NAME` writes: a task of the user's own, commented, with a first kernel, ready to run."""

from __future__ import annotations

TEMPLATE = '''"""{name}: a KernelLab task of your own. Run it with:  klab run {file}

The file has two halves. The first says WHAT is computed and how it is judged (only the laboratory reads it);
the second is a first C kernel for it with a space of choices (it runs in the sandbox). docs/tasks.md and
docs/candidates.md explain every part. This example: scale the rows of a matrix to unit root mean square.
"""

import numpy as np

from kernellab.tasks import STANDARD, Buffer, Task, sparse

EPSILON = 1e-6


def reference(x, gain):
    """The truth, in float64 NumPy. Inputs come in the order of `inputs` below; return one array per output."""
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON) * gain


def with_numpy(x, gain, y):
    """What you would write without a kernel, in the task's own precision, into the output. Also the yardstick
    for rounding: a kernel may be a few times less accurate than this, not more."""
    np.multiply(x, x, out=y)
    np.divide(x, np.sqrt(y.mean(axis=1, keepdims=True) + np.float32(EPSILON)), out=y)
    y *= gain


def with_torch(x, gain, y):
    """Every other thing a user could pick instead. Names that start with "torch" get torch tensors."""
    import torch

    torch.mul(x, torch.rsqrt((x * x).mean(dim=1, keepdim=True) + EPSILON), out=y)
    y.mul_(gain)


TASK = Task(
    name="{name}",
    about="rows of x[M, N] scaled to unit root mean square, times gain[N]",
    inputs=(Buffer("x", ("M", "N")), Buffer("gain", ("N",))),  # constant=True: contents never change between calls
    outputs=(Buffer("y", ("M", "N")),),
    reference=reference,
    baselines={{"numpy": with_numpy, "torch": with_torch}},
    tune=({{"M": 2048, "N": 1024}},),  # shapes that are searched
    held_out=({{"M": 1000, "N": 1000}}, {{"M": 333, "N": 515}}),  # shapes that no proposer sees, but the judge does
    edge=({{"M": 1, "N": 1}}, {{"M": 3, "N": 7}}, {{"M": 17, "N": 130}}, {{"M": 5, "N": 1031}}),  # odd and tiny
    # normal, offset, heavy-tail, large, constant-rows; rows of x with four numbers, where low precision shows; your own
    distributions={{**STANDARD, "sparse": sparse("x")}},
    flops=lambda dims: 5 * dims["M"] * dims["N"],
    reduction=lambda dims: dims["N"],  # how many input elements are summed into one output element
    # scale=lambda x, gain: ...,  # where terms of both signs are summed: sum_scale(terms, axis) of kernellab.tasks
)


# ---------------------------------------------------------------------------------------------------------------
# The first kernel. Choices in SPACE reach the C code as macros and launch() as arguments; search tunes them.

SOURCE = r"""
#include <math.h>
void rows(const float *restrict x, const float *restrict gain, float *restrict y, long m, long n) {{
    #pragma omp parallel for num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {{
        const float *a = x + i * n;
        float part[LANES] = {{0}}, sum = 0;
        long j = 0;
        for (; j + LANES <= n; j += LANES)
            for (int k = 0; k < LANES; k++) part[k] += a[j + k] * a[j + k];
        for (; j < n; j++) sum += a[j] * a[j];
        for (int k = 0; k < LANES; k++) sum += part[k];
        float scale = 1.0f / sqrtf(sum / n + 1e-6f);
        for (j = 0; j < n; j++) y[i * n + j] = a[j] * scale * gain[j];
    }}
}}
"""
FLAGS = ["{{LEVEL}}", "-fno-math-errno"]
SPACE = {{"LANES": [4, 8, 16, 32, 64], "LEVEL": ["-O2", "-O3"]}}


def launch(x, gain, y):
    m, n = x.shape
    kernel("rows")(x, gain, y, m, n)  # noqa: F821  (kernel and scratch are given by the laboratory)
'''


def render(name: str, file: str) -> str:
    return TEMPLATE.format(name=name, file=file)
