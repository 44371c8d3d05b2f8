"""From an insight to the study that tests it: the same comparison on trials that do not exist yet.

The bound is half of the insight's lower end (in logarithms): an effect that was luck falls short of it. New seeds draw
new contexts; the shapes are those at which the pattern was seen, so a confirmation says that it is real there, and no more.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.ids import digest
from kernellab.core.records import AnyTrial, Param
from kernellab.core.targets import recorded_machine
from kernellab.ledger.run import Run
from kernellab.propose.recipe import builtin_candidates
from kernellab.search.memory.specimen import Reader, recall
from kernellab.studies.hypothesis import Hypothesis, Part, Population, Rule
from kernellab.studies.mine.factors import PARAM, WRITTEN
from kernellab.studies.mine.miner import Insight
from kernellab.studies.mine.pairing import matched
from kernellab.studies.mine.table import rows_of
from kernellab.tasks.load import kept_in
from kernellab.tasks.spec import dims_label

_CONTEXTS = 10
_OF_A_CANDIDATE = 5
_SHAPES = 2
"""Of each task. Another shape is another look at the same pairs; their number comes from contexts and candidates."""
_REPLICATES = 2
_SAMPLE = 6


@dataclass(frozen=True)
class Site:
    """A run folder as a follow-up needs it: its trials, its sources and where its task is."""

    folder: Path
    trials: Sequence[AnyTrial]
    read: Reader


def hypothesis_of(insight: Insight, number: int, site: Site) -> Hypothesis:
    """A new hypothesis, complete with population, statistic, rule and seeds. It has pairs enough to be decided, or is
    refused with the reason."""
    if insight.effect.n < _SAMPLE:
        few = f"{insight.effect.n} pairs, and a verdict takes {_SAMPLE}"
        raise UsageError(f"no follow-up of '{insight.claim}' can be made: {few}", "run more trials first")
    seen = [t for t in site.trials if t.trial in set(insight.trials)]
    factor = insight.factor
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
        population=_populations(insight, seen, site),
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


def _populations(insight: Insight, seen: Sequence[AnyTrial], site: Site) -> list[Population]:
    """Those of each task by itself: its own candidates at its own shapes."""
    found = []
    for task in dict.fromkeys(t.task for t in seen):
        here = [t for t in seen if t.task == task]
        device = recorded_machine(here[0].device)[0].kind
        names = sorted({t.proposal.name for t in here})
        common = Population(
            device=device,
            tasks=[_task(site.folder, task)],
            shapes=list(dict.fromkeys(dims_label(t.dims) for t in here))[:_SHAPES],
            candidates=[_candidate(name, here, site, device) for name in names],
            most=_OF_A_CANDIDATE,
        )
        found += [common.model_copy(update=tried) for tried in _tried(insight, here, site)]
    return found


def _tried(insight: Insight, here: Sequence[AnyTrial], site: Site) -> list[dict[str, Any]]:
    """What is tried of a candidate: a parameter at both levels in contexts drawn anew; of a structure of the artifact the
    recorded pairs, since nobody knows which other combinations have it; of a source a few combinations."""
    factor = insight.factor
    if factor.kind == PARAM:
        levels = [insight.faster, insight.slower]
        return [{"space": {factor.name: levels}, "vary": factor.name, "most": _CONTEXTS}]
    if factor.kind == WRITTEN:
        return [{}]
    params = {t.trial: t.proposal.params for t in here}
    pairs = matched(rows_of(recall(here, site.read)), factor, insight.faster, insight.slower)[:_CONTEXTS]
    spaces = [_space([params[n] for n in pair.trials]) for pair in pairs]
    return [{"space": space, "most": math.prod(map(len, space.values()))} for space in spaces]


def _space(combinations: Sequence[Mapping[str, Param]]) -> dict[str, list[Param]]:
    return {name: list(dict.fromkeys(c[name] for c in combinations)) for name in combinations[0]}


def write_follow_up(hypothesis: Hypothesis, site: Site, folder: Path) -> Path:
    """The hypothesis as a file in a folder of its own, with the candidates and the task file that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    for population in hypothesis.population:
        for name in population.candidates:
            if name.endswith(".py"):
                source = next(t.proposal.source for t in site.trials if t.proposal.name == Path(name).stem)
                (folder / name).write_text(site.read(source))
        kept = kept_in(site.folder)
        if kept.name in population.tasks:
            (folder / kept.name).write_bytes(kept.read_bytes())
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
    return name if Run(folder).genesis.task.builtin else kept_in(folder).name


def _candidate(name: str, seen: Sequence[AnyTrial], site: Site, device: str) -> str:
    """Its name where the recorded source is the built-in one, else a file that is written beside the hypothesis."""
    trial = next(t for t in seen if t.proposal.name == name)
    builtin = {c.name: c.text for c in builtin_candidates(trial.task, device)}
    text = site.read(trial.proposal.source)
    if not text:
        raise UsageError(f"no follow-up can be made: the source of {name} is no longer in {site.folder}",
                         "analyse a run that was not pruned")  # fmt: skip
    return name if builtin.get(name) == text else f"{name}.py"
