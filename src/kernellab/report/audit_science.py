"""The audit of a scientist's part of a ledger: its questions and replies are there, its verdicts follow from the samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernellab.core.records import AnyTrial
from kernellab.propose.models.journal import Answered, Failed, Intent
from kernellab.search.memory.contrast import ratio
from kernellab.search.memory.specimen import recall
from kernellab.search.scientist.notebook import Tested
from kernellab.search.scientist.verdict import judge

_CLOSE = 1e-12


def blobs_of(record: object) -> dict[str, str]:
    """What the store must hold for this record."""
    if not isinstance(record, (Intent, Answered, Failed)):
        return {}
    found = {record.request: "question to the model"}
    if isinstance(record, Answered):
        found[record.reply] = "reply of the model"
    return found


def problems_of(record: object, trials: Sequence[AnyTrial]) -> Iterator[str]:
    """Of a note of the scientist's; `trials` are those recorded before it."""
    if isinstance(record, Tested):
        yield from _verdict(record, trials)


def _verdict(note: Tested, trials: Sequence[AnyTrial]) -> Iterator[str]:
    missing = [n for n in (*note.trials, note.base, note.best) if n is not None and not 0 <= n < len(trials)]
    if missing:
        yield f"speaks of trial {missing[0]}, which was not recorded before"
        return
    if note.base is None or note.best is None:
        if note.effect is not None:
            yield "states an effect without two trials to compare"
        return
    known = {s.number: s for s in recall(trials) if s.number in (note.base, note.best)}
    found = ratio(known[note.best], known[note.base])
    if (found is None) != (note.effect is None):
        yield "states an effect that its trials do not give" if found is None else "leaves out the effect of its trials"
        return
    if found is not None and note.effect is not None:
        for name in ("value", "low", "high"):
            got, wanted = getattr(note.effect, name), getattr(found, name)
            if abs(got - wanted) > _CLOSE * max(abs(got), abs(wanted)):
                yield f"effect {name} is {got!r}, its samples give {wanted!r}"
    if (wanted := judge(found, note.experiment)[0]) != note.verdict:
        yield f"says '{note.verdict}', the rule says '{wanted}'"
