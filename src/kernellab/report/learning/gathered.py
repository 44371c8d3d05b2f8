"""Folders in, stages and exams out. What cannot be audited is named, and nothing of it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.learn.lm.model import is_model
from kernellab.learn.lm.rewarded import AuditedLedger
from kernellab.learn.lm.trained import RECORD, stopped_at, training_in
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.report.learning.exams import Comparison, ExamFigures, comparisons, exam_in
from kernellab.report.learning.ledgers import audited, judged_in
from kernellab.report.learning.stages import Stage, stage_of


@dataclass(frozen=True)
class LearningReport:
    """`left_out`: what is not counted, and why."""

    stages: list[Stage]
    exams: list[ExamFigures]
    compared: list[Comparison]
    left_out: list[str]


def gather(folders: Sequence[Path]) -> LearningReport:
    """Models and ledgers of rewards, in any order. The rewards of a training are found where its record says, or among what
    is given."""
    given = list({folder.resolve(): folder for folder in folders}.values())
    reader = _Reader()
    for folder in given:
        if (folder / LEDGER_FILE).is_file():
            reader.open(folder)
    found = [folder for folder in given if not (folder / LEDGER_FILE).is_file() and reader.is_stage(folder)]
    trainings = {t.digest: t for folder in found if (t := training_in(folder))}
    stages = sorted((reader.stage(stage_of(folder, trainings)) for folder in found), key=lambda stage: stage.rank)
    exams = reader.exams(given)
    if not stages and not exams:
        said = f": {reader.left_out[0]}" if reader.left_out else ""
        raise UsageError(
            f"there is nothing to report{said}", "give models of klab learn and ledgers of klab learn eval"
        )
    return LearningReport(stages, exams, comparisons(exams), reader.left_out)


@dataclass
class _Reader:
    """Each ledger is audited once."""

    ledgers: dict[Path, AuditedLedger | None] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def open(self, folder: Path) -> AuditedLedger | None:
        if folder not in self.ledgers:
            try:
                self.ledgers[folder] = audited(folder)
            except LedgerFault as fault:
                self.ledgers[folder] = None
                self.left_out.append(fault.what)
        return self.ledgers[folder]

    def is_stage(self, folder: Path) -> bool:
        step = stopped_at(folder)
        if (folder / RECORD).exists() or (step is None and is_model(folder)):
            return True
        if step is None:
            raise UsageError(
                f"{folder} holds neither a model nor rewards",
                "give models of klab learn and ledgers of klab learn eval",
            )
        self.left_out.append(f"{folder} holds a training that was stopped at step {step}, and is not finished")
        return False

    def stage(self, stage: Stage) -> Stage:
        """With what was judged in its training, where that can be audited."""
        if stage.training is None or stage.training.kind != "grpo":
            return stage
        ledger = self._rewards(stage)
        if ledger is None:
            return stage
        self.used.add(ledger.run)
        return replace(stage, judged=judged_in(ledger))

    def _rewards(self, stage: Stage) -> AuditedLedger | None:
        assert stage.training is not None
        run, place = (str(stage.training.settings.get(name, "")) for name in ("rewards_run", "rewards"))
        for ledger in self.ledgers.values():
            if ledger is not None and ledger.run == run:
                return ledger
        if not (Path(place) / LEDGER_FILE).is_file():
            self.left_out.append(f"{stage.folder}: its rewards are not at {place}, and not among what was given")
            return None
        found = self.open(Path(place))
        if found is not None and found.run != run:
            self.left_out.append(f"{stage.folder}: what lies at {place} are not the rewards that it was trained on")
            return None
        return found

    def exams(self, given: Sequence[Path]) -> list[ExamFigures]:
        exams = []
        for folder in given:
            ledger = self.ledgers.get(folder)
            if ledger is None:
                continue
            if (found := exam_in(ledger)) is not None:
                exams.append(found)
            elif ledger.run not in self.used:
                self.left_out.append(f"{folder} holds no exam, and none of the models given was trained on it")
        return exams
