"""The interval in which an output element must lie, in torch: tasks/oracle.interval, on whatever device the values are.

tests/unit/tasks/modules/test_intervals.py holds the two against each other, bit by bit.
"""

from __future__ import annotations

from typing import Any

from kernellab.graph.need_torch import need_torch
from kernellab.graph.scale import Judged
from kernellab.tasks.dtypes import is_short, limits


def owed(judged: Judged) -> Any:
    """The scale of every element. What was only moved or chosen has none: only a subnormal may have become zero."""
    scale = judged.pair.scale.expand(judged.pair.value.shape)
    return scale * 0 if judged.pair.exact else scale


def bounds(value: Any, scale: Any, budget: float, dtype: str) -> tuple[Any, Any]:
    """The smallest and the largest number of the dtype that is at most `budget` ULP of the scale away from the value."""
    torch, info = need_torch(), limits(dtype)
    kind = getattr(torch, dtype)
    slack = scale.clamp(min=info.tiny).mul_(budget * info.eps).add_(info.quiet)
    low, high = value - slack, slack.add_(value)
    if is_short(dtype):
        low, high = _at_least(torch, low, kind), -_at_least(torch, -high, kind)
    else:
        low, high = low.to(kind), high.to(kind)
    odd = ~value.isfinite()
    exact = value.to(kind)
    return low.where(~odd, exact), high.where(~odd, exact)


def _at_least(torch: Any, limit: Any, kind: Any) -> Any:
    """The smallest numbers of a 16-bit type that are not below; what rounds to an infinity stays one."""
    near = limit.to(kind)
    below = near.isfinite() & (near.double() < limit)
    return near.where(~below, _next(torch, near))


def _next(torch: Any, values: Any) -> Any:
    """The next larger number of a 16-bit type. The bits of a negative one count downwards."""
    bits = values.view(torch.int16)
    up = (bits + 1).where(bits >= 0, bits - 1)
    return up.where(bits != -(1 << 15), bits.new_ones(())).view(values.dtype)
