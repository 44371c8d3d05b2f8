# PROBLEM: relu_and_sum
# Several outputs and an argument that is no tensor.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scale):
        y = torch.clamp(x, min=0).mul_(scale)
        return [y, torch.sum(y, 1)]
