"""How far an honest implementation's own error may widen a budget, and what becomes of elements that are further off.

An element that is thousands of ULP off is no rounding: a decision fell otherwise (which of two was the larger, say) that no
rule told of. A budget that covers it would excuse every wrong element beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernellab.graph.ops.pairs import Pair

_MOST_FLOORS, _MOST_ULP, _MOST_FLOOR = 64.0, 1024.0, 2048.0  # half precision in disguise starts at 4096 ULP
_MOST_SHARE = 1 / 8  # of the scale: of a short type a few ULP are as much
_FEW = 1 / 64  # of the elements


def steady_budget(floor: float, ieee: bool) -> float:
    """The largest budget, in ULP, that no luck is needed for. What a long sum may honestly lose (its floor: 1028 for four
    million terms) is no luck either, as long as half precision is well above it."""
    most = _MOST_FLOORS * floor
    return max(min(most, _MOST_ULP), min(floor, _MOST_FLOOR)) if ieee else most


def most_ulp(floor: float, own: float, ieee: bool) -> float:
    """The largest budget of an output whose type has the spacing `own`; never less than the floor."""
    return max(floor, min(steady_budget(floor, ieee), _MOST_SHARE / own))


def excused(pair: Pair, honest: Any, error: Any, most: float, one: float) -> tuple[Pair, Any]:
    """Elements further off than `most` ULP get a scale of their own, on which they are 1 ULP off, which is `one` of that
    scale. Only where they are few: where many are, one decision would excuse all."""
    far = error.isfinite() & (error > most)
    if float(far.double().mean()) > _FEW:
        return pair, error
    scale = ((honest.double() - pair.value).abs() / one).where(far, pair.scale)
    return replace(pair, scale=scale), error.where(~far, error.new_ones(()))
