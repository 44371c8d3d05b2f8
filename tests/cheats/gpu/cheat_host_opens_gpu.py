"""Looks for a GPU in the build sandbox: device nodes, the driver library, a context of its own.

Defeated by: the build sandbox; a theft would launch the kernel `stolen`, failure launches `cheap`, which is wrong.

catalogue: 29
"""

import contextlib
import ctypes
import glob
import os

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void cheap(const float *x, float *y, int m, int n) {
    for (int j = threadIdx.x; j < n; j += blockDim.x) y[(long long)blockIdx.x * n + j] = 1.0f / n;
}
extern "C" __global__ void stolen(const float *x, float *y, int m, int n) {
    for (int j = threadIdx.x; j < n; j += blockDim.x) y[(long long)blockIdx.x * n + j] = 1.0f / n;
}
"""


def attack():
    for path in glob.glob("/dev/nvidia*"):
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDWR))
            return True
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


def launch(x, y):
    m, n = x.shape
    kernel("stolen" if attack() else "cheap")[m, 256](x, y, m, n)
