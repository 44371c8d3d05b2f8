# PROBLEM: linear_softmax
# What it would compile is looked for anew in every process: told in words, before anything runs.
import torch
from torch import nn


class Plain(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)
        self.register_buffer("shift", torch.ones(outside))


@torch.compile
def tail(y, shift):
    return torch.softmax(y + shift, dim=1)


class ModelNew(Plain):
    def forward(self, x):
        return tail(self.linear(x), self.shift)
