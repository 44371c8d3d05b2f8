"""The baselines of a shape: every one that starts and is right is timed, and the fastest stays open, to be beaten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernellab.core.errors import EnvironmentFault
from kernellab.core.events import Event, Listener
from kernellab.core.time_words import time_words
from kernellab.measurement.base import Slots
from kernellab.measurement.bench import Arm, Bench, Unfit, refuse_standing_still
from kernellab.measurement.rig import Rig
from kernellab.measurement.stats import median
from kernellab.run.base import Runner, WorkerFault
from kernellab.tasks.spec import Task

_PAIRS = 5


class Opponents:
    """They start at once, as many as have room beside each other; the others when these have been timed.

    `failed` and `rough` say why a baseline is left out, and what is inexact about one that is not.
    """

    def __init__(self, rig: Rig, task: Task, locator: str, ring: Slots, emit: Listener) -> None:
        self._rig, self._task, self._locator, self._ring, self._emit = rig, task, locator, ring, emit
        self._room = max(1, rig.baselines_at_once(task, ring.dims))
        self._open: list[Runner] = []
        self._coming: Mapping[str, Runner] | None = self._start(self._groups(rig.names)[0])
        self.fastest: Arm | None = None
        self.seconds: dict[str, float] = {}
        self.samples: dict[str, list[list[float]]] = {}
        self.disturbed: list[str] = []
        self.failed: dict[str, str] = {}
        self.rough: dict[str, str] = {}

    def meet(self, bench: Bench) -> Arm:
        """The fastest of all, still open."""
        while not self._met(bench):
            self._begin_again()
        for name, why in self.failed.items():
            self._emit(Event("note", f"baseline {name} is left out: {why}"))
        if self.fastest is None:
            raise EnvironmentFault(
                f"no baseline of {self._task.name} runs here: {self.failed}", "check the task's baselines"
            )
        self._open.remove(self.fastest.worker)
        return self.fastest

    def _groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(names[n : n + self._room]) for n in range(0, len(names), self._room)] or [()]

    def _met(self, bench: Bench) -> bool:
        """False where the fastest so far broke off: those that had lost to it alone are closed."""
        for group in self._groups([name for name in self._rig.names if name not in self.failed]):
            coming, self._coming = self._coming if self._coming is not None else self._start(group), None
            for arm in self._proved(bench, self._loaded(coming)):
                if not self._time(bench, arm):
                    return False
        return True

    def _begin_again(self) -> None:
        """Without whoever broke off."""
        self.close()
        self.fastest = None
        self.samples, self.seconds, self.disturbed, self.rough = {}, {}, [], {}

    def close(self) -> None:
        """All but the one that was handed out."""
        for runner in list(self._open):
            self._shut(runner)

    def _shut(self, runner: Runner) -> None:
        self._open.remove(runner)
        runner.close()

    def _start(self, names: tuple[str, ...]) -> Mapping[str, Runner]:
        coming = self._rig.start_baselines(self._task, self._locator, names, self._ring)
        self._open += coming.values()
        return coming

    def _loaded(self, coming: Mapping[str, Runner]) -> list[Arm]:
        arms = []
        for name, baseline in coming.items():
            try:
                arms.append(Arm(name, baseline.ready(), 1, trusted=True))
            except WorkerFault as fault:
                self._shut(baseline)
                self.failed[name] = fault.reason
        return arms

    def _proved(self, bench: Bench, arms: list[Arm]) -> list[Arm]:
        """Those that are right. Asked when all stand still: each makes a call while it is loaded."""
        kept = []
        for arm in arms:
            wrong, usable = bench.prove(arm)
            if not usable:
                self._leave_out(arm, wrong)
                continue
            kept.append(arm)
            if wrong:
                self.rough[arm.name] = wrong
                self._emit(Event("note", f"baseline {arm.name} is rough: {wrong}"))
        return kept

    def _time(self, bench: Bench, arm: Arm) -> bool:
        """Paired with the fastest so far. The slower of the two is closed. False where the fastest broke off."""
        try:
            pairs, _ = bench.compare(arm, self.fastest or arm, _PAIRS)
        except Unfit as unfit:  # out of memory, say: whoever broke off is out
            refuse_standing_still(unfit)
            self._leave_out(unfit.arm, unfit.rejected.reason)
            return unfit.arm is arm
        self.samples[arm.name] = [pairs.first, pairs.second]
        self.seconds[arm.name] = seconds = median(pairs.first)
        self.disturbed += [arm.name] * pairs.disturbed
        text = f"{arm.name}: {time_words(seconds)}"
        self._emit(Event("baseline", text, {"name": arm.name, "seconds": seconds}))
        if self.fastest is None or seconds < self.seconds[self.fastest.name]:
            arm, self.fastest = self.fastest or arm, arm
        if arm is not self.fastest:
            self._shut(arm.worker)
        return True

    def _leave_out(self, arm: Arm, why: str) -> None:
        self._shut(arm.worker)
        self.failed[arm.name] = why
        self.samples.pop(arm.name, None)
        self.seconds.pop(arm.name, None)
