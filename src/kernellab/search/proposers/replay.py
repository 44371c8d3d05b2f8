"""The ideas of a recorded run again, in their order: its kernels on another machine, or by another laboratory."""

from __future__ import annotations

from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.core.records import AnyTrial
from kernellab.ledger.check import require_sound
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.base import Idea, Listed
from kernellab.search.proposers.base import ProposerKind, ShapeContext, for_each_shape


def recorded(shape: ShapeContext) -> Listed:
    """What was tried there for this task at this shape."""
    folder, task = Path(shape.search.argument), shape.search.run.task.name
    store = Store(folder)
    return Listed([_idea(t, store) for t in Run(folder).trials if (t.task, t.dims) == (task, shape.dims)])


def _idea(trial: AnyTrial, store: Store) -> Idea:
    proposal = trial.proposal
    candidate = Candidate(store.get(proposal.source).decode(), proposal.name)
    return Idea(candidate, dict(proposal.params), f"trial {trial.trial} again: {proposal.why}", "replay")


PROPOSER = ProposerKind(
    "replay", "replay:RUN, the ideas of a recorded run in their order", for_each_shape(recorded), needs="argument",
    check=lambda folder: require_sound(Path(folder)),
)  # fmt: skip
