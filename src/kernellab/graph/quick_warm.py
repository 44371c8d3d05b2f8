"""Imported before processes are forked in which graphs become functions: what torch imports to say which operators a call
goes to (its distributed tensors, sympy; a second in all) is then there for each of them."""

from kernellab.graph.need_torch import need_torch
from kernellab.graph.quick import quick


def warm() -> None:
    torch = need_torch()
    quick(torch, torch.ops.aten.relu.default, [torch.empty(1, device="meta")], {})


warm()
