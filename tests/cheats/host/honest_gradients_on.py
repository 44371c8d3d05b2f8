# PROBLEM: linear_softmax
# Turns gradients on for the whole process, as training code does when it is imported.
import torch
from torch import nn

torch.set_grad_enabled(True)


class ModelNew(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)
        self.register_buffer("shift", torch.ones(outside))

    def forward(self, x):
        return torch.softmax(self.linear(x) + self.shift, dim=1)
