# PROBLEM: relu_and_sum
# Works in place on an input that is not its own.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scale):
        y = x.relu_().mul_(scale)
        return y, y.sum(1)
