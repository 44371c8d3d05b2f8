"""What is sent to places by index, and where it may go instead: an open index moves its own element, and that no further
than its scale. What any other place holds is as sharp as ever.

Once one open index widened every place by all that was open: at half a million numbers in a thousand bins a count of 524
might have been off by 250, and a kernel that counted nothing passed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from kernellab.graph.ops.pairs import Call, Pair, Tensor

_NEAR = 4  # places on either side to which an open index is followed; beyond, it may go anywhere along its axes
_MOST_RUNS = 81


@dataclass(frozen=True)
class Sent:
    """`indices` by the axis of the result that they count along; `shape`: the result's."""

    call: Call
    shape: tuple[int, ...]
    indices: dict[int, Pair]

    @classmethod
    def of(cls, call: Call) -> Sent | None:
        """None where the indices are masks, or there is no axis to count along."""
        shape = tuple(call.result.shape)
        if "index_put" in call.op:
            indices = {d: p for d, p in enumerate(call.args[1]) if p is not None}
        elif "embedding" in call.op:
            indices = {0: call.args[1]}
        else:
            indices = {call.args[1] % max(1, len(shape)): call.args[2]}
        masks = any(p.value.dtype == call.torch.bool for p in indices.values())
        return None if masks or not shape or not all(shape) else cls(call, shape, indices)

    @property
    def at_home(self) -> dict[int, Tensor]:
        return {d: p.value % self.shape[d] for d, p in self.indices.items()}

    def added(self, places: dict[int, Tensor], what: Tensor) -> Tensor:
        """What each place gets. One place beyond the end of every axis takes what is not asked for."""
        size = [n + (d in places) for d, n in enumerate(self.shape)]
        base = what.new_zeros(size, dtype=self.call.torch.float64)
        what = what.double()
        if "index_put" in self.call.op:
            put = self.call.torch.ops.aten.index_put.default
            found = put(base, [places.get(d) for d in range(max(places) + 1)], what, accumulate=True)
        elif "scatter" in self.call.op:
            ((dim, index),) = places.items()
            what = what.expand(index.shape) if not what.dim() else what[tuple(map(slice, index.shape))]
            found = base.scatter_add(dim, index, what)
        else:
            ((dim, index),) = places.items()
            rows = what.reshape(-1, *self.shape[1:]) if "embedding" in self.call.op else what
            found = base.index_add(dim, index.reshape(-1), rows * self.call.kwargs.get("alpha", 1.0))
        return found[tuple(slice(n) for n in self.shape)]

    def may_move(self, what: Tensor) -> Tensor:
        """How much of `what`, magnitudes all of them, every place may lose or get: of elements whose index is open, at home
        and at all places within its scale."""
        moved = what.new_zeros(self.shape, dtype=self.call.torch.float64)
        for places in self._elsewhere():
            moved = moved + self.added(places, what).abs()
        for dim, pair in self._open.items():
            far = self.added(self._only(dim, pair.scale > self._near[dim]), what).abs()
            moved = moved + far.sum(list(self.indices), keepdim=True)
        return moved

    @cached_property
    def _open(self) -> dict[int, Pair]:
        return {d: p for d, p in self.indices.items() if bool(p.scale.any())}

    @cached_property
    def _near(self) -> dict[int, int]:
        most = int((_MOST_RUNS ** (1 / max(1, len(self._open))) - 1) / 2)
        reach = {d: float(p.scale[p.scale < math.inf].max()) if bool((p.scale < math.inf).any()) else 0.0
                 for d, p in self._open.items()}  # fmt: skip
        return {d: min(_NEAR, most, math.ceil(r)) for d, r in reach.items()}

    def _elsewhere(self) -> Iterator[dict[int, Tensor]]:
        """The indices by axis, all that are open moved alike, and those that may not be moved so far left out."""
        for dim, pair in self._open.items():
            yield self._only(dim, pair.scale > 0)
        for steps in product(*(range(-n, n + 1) for n in self._near.values())):
            if not any(steps):
                continue
            places = self.at_home
            for dim, step in zip(self._open, steps, strict=True):
                if step:
                    moved = (places[dim] + step) % self.shape[dim]
                    places[dim] = moved.where(self._open[dim].scale >= abs(step), self._nowhere(dim))
            yield places

    def _only(self, dim: int, chosen: Tensor) -> dict[int, Tensor]:
        places = self.at_home
        return {**places, dim: places[dim].where(chosen, self._nowhere(dim))}

    def _nowhere(self, dim: int) -> Tensor:
        return self.indices[dim].value.new_full((), self.shape[dim])


def moved(call: Call, what: Tensor, open_: Sequence[Pair]) -> Tensor:
    """What open indices may take from or bring to every place; where nobody knows their places, all of it to any."""
    found = Sent.of(call)
    if found is not None:
        return found.may_move(what)
    count: Any = sum(float((p.scale > 0).sum()) for p in open_)
    return what.new_full((), count * float(what.max()) if what.numel() else 0.0)


def reached(call: Call, index: Pair) -> Tensor:
    """1 where an open index may put something or leave it out; 0 elsewhere."""
    found = Sent.of(call)
    if found is None:
        return call.result.double() * 0 + 1
    return (found.may_move(index.scale.new_ones(index.value.shape)) > 0).double()
