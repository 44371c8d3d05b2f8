"""Candidates that are written from a task's graph, where it has one: no model, no recipe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from kernellab.build.base import Candidate
from kernellab.core.targets import targets_on
from kernellab.graph.record import GraphRecord
from kernellab.lower.candidates import written
from kernellab.lower.site import NotLowered
from kernellab.lower.tensors import Written
from kernellab.tasks.spec import Task


@dataclass(frozen=True)
class Generated:
    """`why_not` says why there are none; `written`: what the generator knows of each."""

    candidates: tuple[Candidate, ...] = ()
    why_not: str = ""
    written: tuple[Written, ...] = ()


def generated_candidates(task: Task, device: str) -> Generated:
    """For the task as it is on this device."""
    if task.captured is None:
        return Generated()
    there = task.on(device)
    return _generated(
        _Graph(task.captured.digest, task.captured.graph), device, tuple(there.tune[0].items()), task.precision
    )


class _Graph:
    """A graph that is known by its digest."""

    def __init__(self, digest: str, record: GraphRecord) -> None:
        self.digest, self.record = digest, record

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Graph) and self.digest == other.digest


@lru_cache(maxsize=64)
def _generated(graph: _Graph, device: str, sizes: tuple[tuple[str, int], ...], precision: str) -> Generated:
    languages = dict.fromkeys(target.language.name for target in targets_on(device))
    try:
        found = [w for language in languages for w in written(graph.record, language, dict(sizes), precision)]
        return Generated(tuple(Candidate(w.text, w.name) for w in found), written=tuple(found))
    except NotLowered as err:
        return Generated(why_not=str(err))
