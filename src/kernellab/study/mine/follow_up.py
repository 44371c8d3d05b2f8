"""From an insight to the study that tests it: the same comparison on trials that do not exist yet.

The bound is half of the insight's lower end (in logarithms): an effect that was luck falls short of it. New seeds draw
new contexts; the shapes are those at which the pattern was seen, so a confirmation says that it is real there, and no more.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.ids import digest
from kernellab.core.records import AnyTrial, Param
from kernellab.propose.recipe import builtin_candidates
from kernellab.search.lab import TASK_FILE, genesis
from kernellab.search.memory.specimen import Reader
from kernellab.study.hypothesis import Hypothesis, Part, Population, Rule
from kernellab.study.mine.factors import PARAM
from kernellab.study.mine.miner import Insight
from kernellab.tasks.spec import dims_label

_CONTEXTS = 10
_SHAPES = 2
_REPLICATES = 2
_SAMPLE = 6


@dataclass(frozen=True)
class Site:
    """A run folder as a follow-up needs it: its trials, its sources and where its task is."""

    folder: Path
    trials: Sequence[AnyTrial]
    read: Reader


def hypothesis_of(insight: Insight, number: int, site: Site) -> Hypothesis:
    """A new hypothesis, complete with population, statistic, rule and seeds."""
    seen = [t for t in site.trials if t.trial in set(insight.trials)]
    device = "cuda" if re.search(r"sm_\d+", seen[0].device) else "cpu"
    factor = insight.factor
    levels = [insight.faster, insight.slower]
    names = [factor.scope] if factor.scope else sorted({t.proposal.name for t in seen})
    of_param = factor.kind == PARAM
    population = Population(
        device="cuda" if device == "cuda" else "cpu",
        tasks=[_task(site.folder, seen[0].task)],
        shapes=list(dict.fromkeys(dims_label(t.dims) for t in seen))[:_SHAPES],
        candidates=[_candidate(name, seen, site, device) for name in names],
        space={factor.name: levels} if of_param else {},
        vary=factor.name if of_param else "",
        most=_CONTEXTS if of_param else 2 * _CONTEXTS,
    )
    bound = math.exp(math.log(insight.effect.low) / 2)
    options: dict[str, Param] = {"kind": factor.kind, "name": factor.name, "scope": factor.scope,
                                 "faster": insight.faster, "slower": insight.slower}  # fmt: skip
    start = int(digest([insight.claim, site.folder.name])[:6], 16)
    return Hypothesis(
        id=f"F{number}",
        title=f"Follow-up: {factor.words}",
        claim=f"{factor.words} {insight.faster} is faster than {insight.slower} by {100 * (bound - 1):.1f} % or more.",
        why=f"mined: {insight.claim}, n={insight.effect.n}, adjusted p {insight.p_adjusted:.3g}; {insight.caveat}",
        level=0.9,
        sample=_SAMPLE,
        seeds=[start + n for n in range(_REPLICATES)],
        population=[population],
        part=[
            Part(
                name="effect",
                prediction=f"over new matched pairs the median ratio is at least {bound:.4f}",
                statistic="paired-effect",
                options=options,
                rule=Rule(side="at-least", bound=bound),
            )
        ],
    )


def write_follow_up(hypothesis: Hypothesis, site: Site, folder: Path) -> Path:
    """The hypothesis as a file in a folder of its own, with the candidates and the task file that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    for population in hypothesis.population:
        for name in population.candidates:
            if name.endswith(".py"):
                source = next(t.proposal.source for t in site.trials if t.proposal.name == Path(name).stem)
                (folder / name).write_text(site.read(source))
        if TASK_FILE in population.tasks:
            (folder / TASK_FILE).write_bytes((site.folder / TASK_FILE).read_bytes())
    path = folder / f"{hypothesis.id}.toml"
    path.write_text(as_toml(hypothesis))
    return path


def as_toml(hypothesis: Hypothesis) -> str:
    """The file that reads back as this hypothesis."""
    content = hypothesis.content()
    tables = {"population": content.pop("population"), "part": content.pop("part")}
    lines = [f"{key} = {_toml(value)}" for key, value in content.items()]
    for name, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{name}]]", *(f"{k} = {_toml(v)}" for k, v in row.items() if v is not None)]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # numbers, words, true and false are written alike in both


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _task(folder: Path, name: str) -> str:
    return name if genesis(folder)["task"]["builtin"] else TASK_FILE


def _candidate(name: str, seen: Sequence[AnyTrial], site: Site, device: str) -> str:
    """Its name where the recorded source is the built-in one, else a file that is written beside the hypothesis."""
    trial = next(t for t in seen if t.proposal.name == name)
    builtin = {c.name: c.text for c in builtin_candidates(trial.task, device)}
    return name if builtin.get(name) == site.read(trial.proposal.source) else f"{name}.py"
