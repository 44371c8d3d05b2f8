# PROBLEM: linear_softmax
# Its softmax is C that it compiles at the first call, as an exported winner does.
import ctypes
import os
import subprocess

import torch
from torch import nn

SOURCE = """
#include <math.h>
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float most = x[i * n], sum = 0;
        for (long j = 1; j < n; j++) most = fmaxf(most, x[i * n + j]);
        for (long j = 0; j < n; j++) sum += y[i * n + j] = expf(x[i * n + j] - most);
        for (long j = 0; j < n; j++) y[i * n + j] /= sum;
    }
}
"""


def library():
    folder = os.path.join(os.environ["XDG_CACHE_HOME"], "deep", "down")
    path = os.path.join(folder, "softmax.so")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        command = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path, "-lm"]
        subprocess.run(command, input=SOURCE.encode(), check=True)
    return ctypes.CDLL(path)


class Plain(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)
        self.register_buffer("shift", torch.ones(outside))

    def right(self, x):
        return torch.softmax(self.linear(x) + self.shift, dim=1)


class ModelNew(Plain):
    def __init__(self, inside, outside):
        super().__init__(inside, outside)
        self.library = library()

    def forward(self, x):
        y = (self.linear(x) + self.shift).contiguous()
        out = torch.empty_like(y)
        pointers = ctypes.c_void_p(y.data_ptr()), ctypes.c_void_p(out.data_ptr())
        self.library.softmax(*pointers, ctypes.c_long(y.shape[0]), ctypes.c_long(y.shape[1]))
        return out
