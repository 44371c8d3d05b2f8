"""Tasks and kernels for the benchmark of the reward service: shipped operators at one modest shape each, and every way to
fill in the parameters of shipped recipes, in a random order.

A task is a file of its own: the operator with one tuned shape, against eager torch alone. Compiled baselines take a minute to
set up and are not what is measured here; large shapes make a full verdict as long as a whole batch.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.learn.recorded_reply import as_reply
from kernellab.propose.recipe import builtin_candidates, read_candidate, space_in

WIDE = Path(__file__).parents[1] / "gpu" / "softmax_wide.py"
SOFTMAX = (
    ({"M": 500, "N": 1537}, {"M": 1000, "N": 640}),
    ("softmax_wide", "softmax_row_triton", "softmax_online_triton"),
)
STENCIL = ({"H": 333, "W": 500, "C": 3}, {"H": 200, "W": 256, "C": 8}), ("_tile_triton",)
OPERATORS = {
    "softmax": SOFTMAX, "softmax_bf16": SOFTMAX, "softmax_f16": SOFTMAX,
    "stencil3x3": STENCIL, "stencil5x5": STENCIL,
    "particle_filter": (({"N": 300_007}, {"N": 65_537}), ("particle_resident_triton",)),
}  # fmt: skip
"""The held-out shapes of each, and which recipes are taken on a GPU (by how their names end): those that build fast."""
TASKS = {"cpu": ("softmax", "stencil3x3", "stencil5x5", "particle_filter"),
         "cuda": ("softmax", "softmax_bf16", "softmax_f16", "stencil3x3")}  # fmt: skip
ELEMENTS = {"cpu": 1 << 18, "cuda": 1 << 21}
_FILE = '''"""The shipped operator {name} at one shape, against eager torch."""

from dataclasses import replace

from kernellab.tasks.builtin import TASKS
from kernellab.tasks.spec import ON_GPU, Sizes

BASE = TASKS["{name}"]
TUNE, HELD_OUT = ({dims},), {held_out}
TASK = replace(
    BASE, name="{name}_bench", tune=TUNE, held_out=HELD_OUT, quick=TUNE[0],
    sizes={{ON_GPU: Sizes(TUNE, HELD_OUT, BASE.sizes[ON_GPU].edge)}}, gpu_baselines={{"eager": BASE.gpu_baselines["torch"]}},
)
'''


@dataclass(frozen=True)
class Text:
    """A kernel as a policy would reply it, and the task that it is for."""

    task: str
    reply: str
    source: str
    params: dict[str, str | int | float | bool]


def task_file(name: str, elements: int, folder: Path) -> Path:
    path = folder / f"{name}_bench.py"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_FILE.format(name=name, dims=_dims(name, elements), held_out=OPERATORS[name][0]))
    return path


def texts(names: tuple[str, ...], device: str, seed: int) -> Iterator[Text]:
    """From every task in turn, until the first has no more."""
    return (text for row in zip(*(_of_task(name, device, seed) for name in names), strict=False) for text in row)


def take(source: Iterator[Text], count: int) -> list[Text]:
    return list(islice(source, count))


def _dims(name: str, elements: int) -> dict[str, int]:
    if name.startswith("softmax"):
        return {"M": elements // 1024, "N": 1024}
    if name.startswith("particle"):
        return {"N": elements}
    side = 1 << ((elements // 4).bit_length() - 1) // 2
    return {"H": elements // (4 * side), "W": side, "C": 4}


def _of_task(name: str, device: str, seed: int) -> Iterator[Text]:
    recipes = [_combinations(name, candidate, seed) for candidate in _candidates(name, device)]
    while recipes:
        for recipe in list(recipes):
            text = next(recipe, None)
            if text is None:
                recipes.remove(recipe)
            else:
                yield text


def _candidates(name: str, device: str) -> list[Candidate]:
    found = builtin_candidates(name, device)
    if device == "cpu":
        return found
    wide = [read_candidate(WIDE)] if name.startswith("softmax") else []
    return [candidate for candidate in (*wide, *found) if candidate.name.endswith(OPERATORS[name][1])]


def _combinations(name: str, candidate: Candidate, seed: int) -> Iterator[Text]:
    space = space_in(candidate.text)
    every = list(product(*space.values()))
    random.Random(f"{seed} {name} {candidate.name}").shuffle(every)
    for choice in every:
        params = dict(zip(space, choice, strict=True))
        reply = as_reply(candidate.text, params, f"{candidate.name} with {params}")
        yield Text(f"{name}_bench", reply, candidate.text, params)
