# PROBLEM: linear_softmax
# A buffer and a parameter of its own beside the problem's; work memory that is kept between calls.
import torch
from torch import nn


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
        self.register_buffer("one", torch.ones(()))
        self.unused = nn.Parameter(torch.zeros(3))
        self.work = {}

    def forward(self, x):
        work = self.work.setdefault(x.shape[0], torch.empty(x.shape[0], self.linear.out_features))
        torch.addmm(self.linear.bias + self.shift * self.one, x, self.linear.weight.t(), out=work)
        return work.softmax(1)
