# PROBLEM: relu_and_sum
# A dictionary of outputs, in the problem's order.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, scale):
        y = torch.where(x > 0, x, torch.zeros_like(x)) * scale
        return {"y": y, "sum": y.sum(-1)}
