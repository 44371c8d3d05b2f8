# PROBLEM: linear_softmax
# What it compiles is no C.
import subprocess

import torch
from torch import nn

subprocess.run(["cc", "-x", "c", "-", "-c", "-o", "no.o"], input=b"this is no C", check=True, capture_output=True)


class Plain(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)
        self.register_buffer("shift", torch.ones(outside))

    def right(self, x):
        return torch.softmax(self.linear(x) + self.shift, dim=1)


class ModelNew(Plain):
    def forward(self, x):
        return self.right(x)
