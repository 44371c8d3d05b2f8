"""Whether a study's record keeps to what was registered: each planned trial and examination once, no other, and the loans
that were announced. Entries are given in the order of the ledger; what is wrong comes back in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kernellab.core.records import AnyTrial, DuplicateTrial, FailedTrial
from kernellab.measurement.stats import replicated_speedup
from kernellab.studies.design import inputs_of, key_of_trial
from kernellab.studies.evidence import A_SHAPE, Borrowed, Evidence, Examination
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.plan import Planned
from kernellab.studies.registration import Registration
from kernellab.tasks.spec import dims_label


class PlanAudit:
    """`evidence` grows with the ledger: an entry is in it when it is asked about."""

    def __init__(self, hypothesis: Hypothesis, planned: Planned, evidence: Evidence) -> None:
        self._hypothesis = hypothesis
        self._planned = planned
        self._evidence = evidence
        self._done: dict[str, AnyTrial] = {}
        self._examined: Counter[tuple[int, str]] = Counter()

    def trial(self, trial: AnyTrial) -> Iterator[str]:
        key = key_of_trial(trial)
        if trial.seed not in self._hypothesis.seeds:
            yield f"trial {trial.trial} has the seed {trial.seed}, which was not registered"
        elif key not in self._planned:
            what = f"{trial.proposal.name} {trial.proposal.params} at {trial.task} {dims_label(trial.dims)}"
            yield f"trial {trial.trial} is not in the registered plan: {what}"
        elif key in self._done:
            yield f"trial {trial.trial} is trial {self._done[key].trial} again, which the plan has once"
        self._done.setdefault(key, trial)
        if isinstance(trial, DuplicateTrial) and 0 <= trial.of < trial.trial:
            first = self._evidence.trials[trial.of]
            if (first.task, first.dims, first.seed) != (trial.task, trial.dims, trial.seed):
                yield f"trial {trial.trial} stands for trial {trial.of} of another shape or replicate"

    def examination(self, said: Examination) -> Iterator[str]:
        trials = self._evidence.trials
        trial = trials[said.trial] if 0 <= said.trial < len(trials) else None
        if trial is None or (said.dims, said.seed) != (trial.dims, trial.seed):
            yield f"examines trial {said.trial}, which has no such shape and seed"
            return
        self._examined[said.trial, said.distribution] += 1
        if self._examined[said.trial, said.distribution] > 1:
            yield f"examines trial {said.trial} under '{said.distribution}' a second time"
        if said.distribution not in self._planned.get(key_of_trial(trial), ()):
            yield f"examines trial {said.trial} under '{said.distribution}', which was not registered"
        inputs = inputs_of(self._hypothesis, trial.task, trial.dims, trial.seed, said.distribution).hex()
        if said.inputs_seed != inputs:
            yield f"examines trial {said.trial} on other inputs than the hypothesis and the seed give"

    def whole(self) -> Iterator[str]:
        """At the verdict: what was registered and is not there."""
        missing = len(self._planned.keys() - self._done.keys())
        if missing:
            yield f"a verdict is given, and {missing} of the {len(self._planned)} registered trials are missing"
        for key, distributions in self._planned.items():
            trial = self._done.get(key)
            if trial is None or isinstance(trial, FailedTrial):
                continue
            left = [d for d in sorted(distributions) if not self._examined[trial.trial, d]]
            if left:
                yield f"a verdict is given, and trial {trial.trial} was not examined under '{left[0]}'"


class LoanAudit:
    """The trials of other runs: as many as were announced, of the runs that were named, the best few of a shape."""

    def __init__(self, hypothesis: Hypothesis, said: Registration) -> None:
        self._id = hypothesis.id
        self._loans = said.loans
        self._others = {other.run: other for other in said.others}
        self._named_twice = len(self._others) != len(said.others)
        self._taken: Counter[tuple[str, int]] = Counter()
        self._places: Counter[tuple[str, str, str]] = Counter()

    def taken(self, said: Borrowed) -> Iterator[str]:
        trial, other = said.trial, self._others.get(said.run)
        place = (said.run, trial.task, str(sorted(trial.dims.items())))
        self._taken[said.run, trial.trial] += 1
        self._places[place] += 1
        if said.study != self._id:
            yield f"borrows trial {trial.trial} for another study, {said.study}"
        if other is None or (other.root, other.device) != (said.root, trial.device):
            yield f"borrows trial {trial.trial} of run {said.run}, which was not registered with this root and device"
        if self._taken[said.run, trial.trial] > 1:
            yield f"borrows trial {trial.trial} of run {said.run} a second time"
        if self._places[place] > A_SHAPE:
            yield f"borrows more than {A_SHAPE} trials of run {said.run} at one shape"
        timing = trial.timing
        found = replicated_speedup(timing.candidate_s, timing.baseline_s, timing.processes)
        if (found.value, found.low, found.high) != (timing.speedup, timing.speedup_low, timing.speedup_high):
            yield f"borrows trial {trial.trial} with a speed-up that its samples do not give"

    def whole(self) -> Iterator[str]:
        if self._named_twice:
            yield "another run was registered twice"
        if self._taken.total() != self._loans:
            yield f"{self._loans} loans were registered, and {self._taken.total()} are there"
        idle = sorted(set(self._others) - {run for run, _ in self._taken})
        if idle:
            yield f"run {idle[0]} was registered to compare with, and nothing of it is there"
