"""Losses that stay whole operators; the others are captured as what they are made of."""

from __future__ import annotations

from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops


def picked(call: Call) -> Scaled:
    """The negative log-likelihood of the right classes: a weighted mean or sum of picked elements."""
    x: Pair = call.args[0]
    weight = call.args[2].value if isinstance(call.args[2], Pair) else None
    scale, *_ = call.run([x.scale, call.args[1].value, weight, *call.args[3:]], call.kwargs)
    total = None if call.results[1] is None else call.results[1].abs()
    return Scaled((scale.abs(), total), float(call.args[1].value.numel()))


ROWS: list[Op] = [
    *ops("nll_loss_forward nll_loss2d_forward", "loss", picked, None),
]
