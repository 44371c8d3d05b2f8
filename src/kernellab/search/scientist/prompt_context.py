"""The context: the facts of one shape as prompts may show them, always as they were when the generation began.

Ceilings are those of the shape's first calibration, and trials those before the generation's first: a run that was cut
asks its question again in the very same words, and is answered from its journal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from kernellab.core.ids import digest
from kernellab.core.records import AnyTrial, DuplicateTrial, MeasuredTrial
from kernellab.core.targets import default_language, recorded_machine
from kernellab.measurement.roofline import Ceilings
from kernellab.measurement.stats import median
from kernellab.propose.prompts import (
    BaselineFacts,
    Brief,
    Contrast,
    DeviceFacts,
    Experiment,
    Interval,
    KernelFacts,
    TaskFacts,
    TestedHypothesis,
    Withheld,
    shown,
)
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.memory.contrast import ratio
from kernellab.search.memory.features import features
from kernellab.search.memory.select import Exemplar, contrastive_select
from kernellab.search.memory.specimen import Specimen, reader_of, recall
from kernellab.search.scientist.model_session import ModelSession
from kernellab.search.scientist.notebook import Tested
from kernellab.tasks.spec import Dims

_FINDINGS = 12


class PromptContext:
    def __init__(self, run: ExperimentRun, session: ModelSession, dims: Dims, shapes: Sequence[Dims]) -> None:
        self.run = run
        self.session = session
        self.dims = dims
        task = replace(run.task, tune=tuple(shapes))
        self.secret = Withheld.of(task)
        self.task = TaskFacts.of(task, run.settings.device)
        self.read = reader_of(run.store)
        self._loops: dict[str, str] = {}

    @cached_property
    def device(self) -> DeviceFacts:
        run = self.run
        ceilings = Ceilings.recorded(run.first_calibration(self.dims).ceilings)
        name = run.device_name
        found, machine = recorded_machine(name)
        notes = (*run.opened.platform.notes(run.settings.target), f"Compiler: {run.opened.environment['compiler']}")
        if machine is None:
            return DeviceFacts.of(name, found.architecture, run.settings.threads, ceilings, notes)
        return DeviceFacts.of(name, machine.architecture, machine.processors, ceilings, notes)

    @cached_property
    def baseline(self) -> BaselineFacts:
        """The fastest one at this shape, as the run measured it first."""
        measured = self.run.first_calibration(self.dims)
        latency = median(measured.baselines[measured.fastest][0])
        known = self.run.opened.platform.baselines(self.run.task)
        return BaselineFacts.of(self.run.task, known, measured.fastest, latency)

    @property
    def backend(self) -> str:
        """What a first kernel is written in."""
        return self.session.science.backend or default_language(self.run.opened.platform.kind)

    def trials(self, before: int) -> list[AnyTrial]:
        """Of this shape, up to the generation's beginning."""
        return [t for t in self.run.archive.trials[:before] if t.task == self.run.task.name and t.dims == self.dims]

    def since(self, first: int, source: str) -> list[AnyTrial]:
        """What is on record of a candidate of this generation."""
        later = self.run.archive.trials[first:]
        return [t for t in later if t.proposal.source == source and t.dims == self.dims]

    def seen_before(self, first: int, source: str) -> int | None:
        """An earlier trial of the same text, at any shape."""
        return next((t.trial for t in self.run.archive.trials[:first] if t.proposal.source == source), None)

    def exemplars(self, generation: int, before: int) -> list[Exemplar]:
        """Chosen contrastively; the best is always among them."""
        known, science = self.trials(before), self.session.science
        if not known:
            return []
        dice = random.Random(digest([self.run.settings.seed, generation, self.dims]))
        chosen = contrastive_select(known, science.exemplars, science.scheme, science.tau, dice, self.read)
        best = self.best(before)
        if best is not None and all(_number(e.specimen, self.run) != best.trial for e in chosen):
            specimen = next(s for s in recall(known, self.read) if s.number == best.trial)
            chosen = [Exemplar(specimen, 0, None, None, "the fastest so far"), *chosen[: science.exemplars - 1]]
        return chosen

    def best(self, before: int) -> MeasuredTrial | None:
        timed = [t for t in self.trials(before) if isinstance(t, MeasuredTrial)]
        return max(timed, key=lambda t: (t.timing.speedup_low, -t.trial), default=None)

    def kernel(self, number: int) -> KernelFacts:
        trial = self.run.archive.settled(self.run.archive.trials[number])
        assert not isinstance(trial, DuplicateTrial)
        facts = KernelFacts.of(trial, self.read(trial.proposal.source), self.task, self.secret)
        return replace(facts, loop=self._loop(trial.artifact.code)) if isinstance(trial, MeasuredTrial) else facts

    def _loop(self, code: str) -> str:
        """Of stored machine code, each disassembled once."""
        if code not in self._loops:
            opened = self.run.opened
            self._loops[code] = opened.platform.loop(opened.device.sandbox, self.run.store.get(code))
        return self._loops[code]

    def kernels(self, chosen: Sequence[Exemplar]) -> tuple[KernelFacts, ...]:
        """Slowest first, so that the best is the last to go where a prompt is too long; each once."""
        ranked = sorted(chosen, key=lambda e: -9e9 if e.specimen.score is None else e.specimen.score)
        numbers = dict.fromkeys(_number(e.specimen, self.run) for e in ranked)
        return tuple(self.kernel(n) for n in numbers)

    def contrasts(self, chosen: Sequence[Exemplar]) -> tuple[Contrast, ...]:
        """The pairs that were chosen to be read side by side, where the faster one is clearly faster."""
        found = {}
        for e in chosen:
            if e.beside is None or (times := ratio(e.specimen, e.beside)) is None:
                continue
            fast, slow = e.specimen, e.beside
            interval = Interval(times.value, times.low, times.high)
            if times.value < 1:
                fast, slow = slow, fast
                interval = Interval(1 / times.value, 1 / times.high, 1 / times.low)
            pair = _number(fast, self.run), _number(slow, self.run)
            if interval.low > 1 and pair[0] != pair[1]:
                found[pair] = Contrast.of(self.kernel(pair[0]), self.kernel(pair[1]), interval)
        return tuple(found.values())

    def divergent(self, base: int, before: int) -> int | None:
        """The best measured kernel of another niche than the base's: another bound, other resources, another algorithm."""
        known = [s for s in recall(self.trials(before), self.read) if s.timing is not None]
        mine = next((features(s).niche for s in known if s.number == base), "")
        others = [s for s in known if features(s).niche != mine and s.number != base]
        best = max(others, key=lambda s: (s.spread[0], -s.number), default=None)
        return None if best is None else _number(best, self.run)

    def findings(self, generation: int) -> tuple[TestedHypothesis, ...]:
        """What held and what did not, of earlier generations, oldest first."""
        earlier = [t for t in self.session.notebook.tested if t.generation < generation and t.experiment is not None]
        return tuple(self._finding(t) for t in earlier[-_FINDINGS:])

    def _finding(self, tested: Tested) -> TestedHypothesis:
        assert tested.experiment is not None
        effect = None if tested.effect is None else Interval(tested.effect.value, tested.effect.low, tested.effect.high)
        claim = shown(tested.experiment.hypothesis, self.secret)
        return TestedHypothesis(claim, tested.verdict, effect, tuple(tested.trials), tested.device)

    def brief(self, backend: str, **parts: Any) -> Brief:
        feedback = self.session.science.feedback
        return Brief(self.task, self.device, backend, feedback=feedback, baselines=(self.baseline,), **parts)

    def experiment(self, reply: Any) -> Experiment | None:
        return None if reply is None else reply.fact()


def _number(specimen: Specimen, run: ExperimentRun) -> int:
    """The trial that was measured, where this one was its twin."""
    return run.archive.settled(run.archive.trials[specimen.number]).trial
