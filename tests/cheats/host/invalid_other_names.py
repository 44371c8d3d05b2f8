# PROBLEM: linear_softmax
# Other names for its weights than the problem's.
import torch
from torch import nn


class Plain(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)
        self.register_buffer("shift", torch.ones(outside))

    def right(self, x):
        return torch.softmax(self.linear(x) + self.shift, dim=1)


class ModelNew(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.dense = nn.Linear(inside, outside)

    def forward(self, x):
        return self.dense(x).softmax(1)
