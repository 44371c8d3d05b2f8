"""Which values a judgement looked at: what the task's distributions draw, found by drawing.

Covered: the range of every input, and which special values (NaN, infinities) occur at all.
Not covered: in which patterns they occur (one infinity in a row, a row of nothing else).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernellab.tasks.dtypes import is_float
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.spec import Array, Task

_DRAWS = 3
_SPECIAL: dict[str, Callable[[Array], Array]] = {
    "NaN": np.isnan,
    "+inf": np.isposinf,
    "-inf": np.isneginf,
}


@dataclass(frozen=True)
class Values:
    """`ranges`: input -> least and largest finite value drawn; `special`: what else occurs -> under which distributions."""

    distributions: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    special: dict[str, tuple[str, ...]]
    floating: bool

    def text(self) -> str:
        """For a README: what was judged, and what nobody looked at."""
        spans = ", ".join(f"{name} from {low:.3g} to {high:.3g}" for name, (low, high) in self.ranges.items())
        said = f"Judged on inputs drawn as {', '.join(self.distributions)}: about {spans}"
        drawn = "".join(f", and {kind} ({', '.join(under)})" for kind, under in self.special.items())
        missing = [kind for kind in _SPECIAL if kind not in self.special] if self.floating else []
        never = [
            *missing,
            "values far beyond these",
            *(["other patterns, such as a row of infinities"] if drawn else []),
        ]
        return (f"{said}{drawn}. Not judged: {', '.join(never)}. There the kernel may differ from the reference, without a "
                "word.")  # fmt: skip


def judged_values(task: Task) -> Values:
    """What the distributions draw at the largest edge shape, a few times each."""
    dims = max(task.edge, key=task.least_bytes)
    finite: dict[str, list[Array]] = {buffer.name: [] for buffer in task.inputs}
    special: dict[str, dict[str, None]] = {}
    for number, distribution in enumerate(task.distributions):
        for draw in range(_DRAWS):
            inputs = draw_inputs(task, dims, distribution, np.random.default_rng([number, draw]))
            for buffer, array in zip(task.inputs, inputs, strict=True):
                wide = array.astype(np.float64)
                finite[buffer.name].append(wide[np.isfinite(wide)])
                for kind, occurs in _SPECIAL.items():
                    if occurs(wide).any():
                        special.setdefault(kind, {})[distribution] = None
    values = {name: np.concatenate(parts) for name, parts in finite.items()}
    ranges = {name: (float(v.min()), float(v.max())) for name, v in values.items() if v.size}
    under = {kind: tuple(special[kind]) for kind in _SPECIAL if kind in special}
    return Values(tuple(task.distributions), ranges, under, any(is_float(b.dtype) for b in task.inputs))
