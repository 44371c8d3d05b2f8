"""The judge: runs an artifact on a table of cases and writes the verdict, from buffers the candidate cannot forge.

Covered: wrong, unwritten, non-finite, non-repeatable outputs, and those that depend on what stood there before; writes
outside the buffers; crashes, hangs, floods; a reply before the work is done.
Not covered: anything a kernel does that leaves all outputs right and the clock honest.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from random import Random
from typing import Literal

from kernellab.build.base import Built
from kernellab.core.records import Cause, Passed, Rejected, Verdict
from kernellab.run.base import Call, Device, Memory, RefillingRunner, Runner, WorkerFault
from kernellab.tasks.expected import Expected
from kernellab.tasks.spec import Task, dims_label, shape_key
from kernellab.verdict.answers import Answers, CaseResult, Taken
from kernellab.verdict.cases import Case, CaseTable, stray
from kernellab.verdict.numeric import Mismatch, explain, leftover_pattern, poison_pattern, within

_MANY = 1000
_MANY_TIMEOUTS = 10
_REFILLS = 3


class Judge:
    def __init__(self, device: Device, workers: Executor | None = None) -> None:
        self._device = device
        self._workers = workers

    def verify(self, built: Built, table: CaseTable, level: Literal["screen", "full"]) -> Verdict:
        """Every case twice: once judged in full, once more for repeatability. In full also one case a thousand times."""
        found = self._verify(built, table, level, many=level == "full")
        following = table.following()
        while following is not None and isinstance(found, Passed):
            with following:
                further = self._verify(built, following, level, many=False)
            found = _both(found, further) if isinstance(further, Passed) else further
            following = following.following()
        return found

    def _verify(self, built: Built, table: CaseTable, level: Literal["screen", "full"], many: bool) -> Verdict:
        table.ready()
        workers = self._workers if level == "full" else None  # screening is too small to be shared out
        start = partial(self._device.start, built, table.inputs, table.outputs, table.calls, wait=False)
        look = _Look(start, table, workers)
        try:
            look.open(wait=level == "full")
            rejected = look.one_by_one() if level == "full" else look.together()
            rejected = rejected or look.again() or (look.many_times() if many else None)
        except WorkerFault as fault:
            broke_off = Rejected(cause=fault.cause, reason=fault.reason, case=look.label)
            rejected = look.first_rejection() or broke_off  # an earlier case may still be with a worker
        finally:
            look.close()
        judged = {shape_key(case.dims): built.part(case.dims).id for case in table.cases}
        return rejected or look.passed(level, judged)


def _both(one: Passed, other: Passed) -> Passed:
    """The cases of two tables together."""
    return Passed(
        level=one.level,
        cases=one.cases + other.cases,
        max_abs_err=max(one.max_abs_err, other.max_abs_err),
        max_ulp=max(one.max_ulp, other.max_ulp),
        budget_ulp=max(one.budget_ulp, other.budget_ulp),
        deterministic=one.deterministic and other.deterministic,
        judged={**one.judged, **other.judged},
    )


class _Look:
    """One artifact on one table: what was found so far, and under which label the next fault is told."""

    def __init__(self, start: Callable[[], Runner], table: CaseTable, workers: Executor | None) -> None:
        self._start, self._table, self._workers = start, table, workers
        self._runner: Runner | None = None
        self.label = "loading"
        self._first: list[Taken] = []
        self._judged: list[Callable[[], CaseResult]] = []
        self._deterministic = True

    def open(self, wait: bool = True) -> None:
        """Load the artifact, in place of one that broke off; `wait`: to see that it can be."""
        self.close()
        self._runner = self._start()
        if wait:
            self._runner.ready()

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _opened(self) -> Runner:
        assert self._runner is not None, "opened before"
        return self._runner

    def _run(self, calls: Sequence[int], timeout_s: float, steady: bool = False) -> None:
        self._opened().run(calls, timeout_s, steady=steady)

    def _run_rounds(self, rounds: Sequence[Sequence[int]], timeout_s: float) -> None:
        runner = self._opened()
        if isinstance(runner, RefillingRunner):
            runner.run_rounds(rounds, timeout_s)
        else:
            runner.run([number for calls in rounds for number in calls], timeout_s)

    def one_by_one(self) -> Rejected | None:
        """Every case alone, as if it were the only one."""
        table = self._table
        for number, case in enumerate(table.cases):
            self.label = case.label
            answers = table.answers(number)
            patterns = poison_outputs(table.outputs, table.calls[number])
            self._run([number], table.timeouts[number])
            self._judge(table.take([number])[0], answers, patterns)
            if self._workers is None and (rejected := _rejection(table.task, case, self._judged[-1]())):
                return rejected
        return self.first_rejection()

    def together(self) -> Rejected | None:
        """All cases in one go, which costs one process; a fault is then looked for case by case. The process for the second
        pass loads meanwhile."""
        table = self._table
        for _ in ("first", "second"):
            self._opened().begin(range(len(table.calls)), scrub=False)
        everything = range(len(table.calls))
        patterns = poison_all(table.outputs, table.calls)
        try:
            self._run(everything, table.joint_timeout)
        except WorkerFault:
            self.open()
            return self.one_by_one()
        for number, taken in zip(everything, table.take(everything), strict=True):
            self._judge(taken, table.answers(number), patterns[number])
        return self.first_rejection()

    def again(self) -> Rejected | None:
        """All cases once more in one go, twice in one process: right as before, and best of all with every bit as before.

        The outputs hold numbers this time, as buffers in use do, and no NaN that a maximum would pass over. Each call is
        made again on the same inputs and other leftovers: an output left alone because nothing changed would show. What was
        never written is not told apart: leftovers may look like answers.
        """
        table, self.label = self._table, "second pass"
        poison_all(table.outputs, table.calls, leftover_pattern)
        self._run(range(len(table.calls) - 1, -1, -1), table.joint_timeout, steady=True)
        for number, taken in enumerate(table.take(range(len(table.calls)), copied=False)):
            if not self._as_before(number, taken):
                self._deterministic = False
                if fault := self._fault_in(number, taken):
                    return _later(fault, table.cases[number], "right at first, then wrong")
        return None

    def many_times(self) -> Rejected | None:
        """Small cases of one shape again and again in one process, in secret order: a kernel that counts its calls would
        turn, and one that remembers an answer would give it for other inputs. Now and then, and before the last call of each
        case, outputs and work memory get other contents where the runner can do that."""
        table, numbers = self._table, self._like()
        count = _MANY + secrets.randbelow(_MANY)
        dice = secrets.SystemRandom()
        last = dice.sample(numbers, len(numbers))
        self.label = f"{count} calls in one process"
        poison_all(table.outputs, [table.calls[n] for n in numbers])
        rounds = [*_cut(dice.choices(numbers, k=count), _REFILLS, dice), last]
        self._run_rounds(rounds, _MANY_TIMEOUTS * max(table.timeouts[n] for n in numbers))
        for number, taken in zip(numbers, table.take(numbers, copied=False), strict=True):
            if not self._as_before(number, taken) and (fault := self._fault_in(number, taken)):
                how = f"right at first, then wrong after {count} calls in one process"
                return _later(fault, table.cases[number], how)
        return None

    def _like(self) -> list[int]:
        """The cases of the smallest shape at which not all of them have the same outputs, if there is one."""
        table = self._table
        shapes: dict[str, list[int]] = {}
        for number, case in sorted(enumerate(table.cases), key=lambda c: table.task.least_bytes(c[1].dims)):
            shapes.setdefault(dims_label(case.dims), []).append(number)
        for numbers in shapes.values():
            if not all(self._first[numbers[0]].same_bits(self._first[n]) for n in numbers):
                return numbers
        return next(iter(shapes.values()))

    def first_rejection(self) -> Rejected | None:
        """The first case that was judged wrong: the same whoever judged it, and however far the artifact came."""
        task = self._table.task
        rejections = (_rejection(task, case, j()) for case, j in zip(self._table.cases, self._judged, strict=False))
        return next(filter(None, rejections), None)

    def passed(self, level: Literal["screen", "full"], judged: dict[str, str]) -> Passed:
        found = [judgement() for judgement in self._judged]
        return Passed(
            level=level,
            cases=len(self._table.cases),
            max_abs_err=max(f.absolute for f in found),
            max_ulp=max(f.ulps for f in found),
            budget_ulp=max(f.budget for f in found),
            deterministic=self._deterministic,
            judged=judged,
        )

    def _judge(self, taken: Taken, answers: Answers, patterns: list[int]) -> None:
        """Now, or by a worker meanwhile."""
        self._first.append(taken)
        if self._workers is not None and not answers.on_device:
            self._judged.append(self._workers.submit(answers.judge, self._table.task, taken, patterns).result)
        else:
            judged = answers.judge(self._table.task, taken, patterns)
            self._judged.append(lambda: judged)

    def _as_before(self, number: int, taken: Taken) -> bool:
        return not taken.broken and self._first[number].same_bits(taken)

    def _fault_in(self, number: int, taken: Taken) -> Mismatch | None:
        unknown = [None] * len(self._table.task.outputs)
        return self._table.answers(number).judge(self._table.task, taken, unknown).fault


def _cut(order: list[int], cuts: int, dice: Random) -> list[list[int]]:
    """Into pieces, at so many places drawn in secret."""
    places = sorted(dice.sample(range(1, len(order)), cuts))
    return [order[start:end] for start, end in zip([0, *places], [*places, len(order)], strict=True)]


def _later(fault: Mismatch, case: Case, how: str) -> Rejected:
    cause: Cause = "out-of-bounds" if fault.cause == "out-of-bounds" else "nondeterministic"
    return Rejected(cause=cause, reason=f"{how}: {_discreet(fault.reason, case)}", case=case.label)


def _rejection(task: Task, case: Case, judged: CaseResult) -> Rejected | None:
    fault = judged.fault
    if fault is None:
        timed = case.group != "edge" and case.distribution == next(iter(task.distributions))
        return _undecided(case, judged.open) if judged.open and timed else None
    return Rejected(
        cause=fault.cause,
        reason=_discreet(fault.reason, case),
        case=case.label,
        max_abs_err=fault.max_abs_err,
        max_ulp=fault.max_ulp,
    )


def _undecided(case: Case, name: str) -> Rejected:
    """Small shapes and odd inputs are another matter: a task is refused where none of those is decided."""
    reason = (
        f"'{name}' differs from what float64 gives, and with so many roundings nearly anything would pass there: nobody "
        "could tell right from wrong"
    )
    return Rejected(cause="wrong-output", reason=_discreet(reason, case), case=case.label)


def _discreet(reason: str, case: Case) -> str:
    """Places and sizes would give a held-out shape away."""
    return f"{reason.split(':')[0]}: wrong at a held-out shape" if case.group == "held-out" else reason


def poison_outputs(outputs: Memory, call: Call) -> list[int]:
    """Poison every output of a call and renew its guards; returns the secret patterns."""
    return poison_all(outputs, [call])[0]


def poison_all(
    outputs: Memory, calls: Sequence[Call], pattern_of: Callable[[str, int], int] = poison_pattern
) -> list[list[int]]:
    """The same for many calls at once."""
    patterns = [[pattern_of(region.dtype, secrets.randbits(64)) for region in call.outputs] for call in calls]
    outputs.fill_all([r for call in calls for r in call.outputs], [p for one in patterns for p in one])
    return patterns


def guard_fault(task: Task, outputs: Memory, call: Call) -> Mismatch | None:
    """Which output was written beyond its ends, if any."""
    for buffer, region in zip(task.outputs, call.outputs, strict=True):
        side = outputs.intact(region)
        if side:
            return stray(buffer.name, side)
    return None


def check_outputs(
    task: Task, outputs: Memory, call: Call, expected: Sequence[Expected], patterns: Sequence[int]
) -> Mismatch | None:
    """Guards first, then every element of every output; the first fault is told, with the excess of the worst."""
    fault = guard_fault(task, outputs, call)
    if fault is not None:
        return fault
    faults: list[Mismatch] = []
    for buffer, region, wanted, pattern in zip(task.outputs, call.outputs, expected, patterns, strict=True):
        got = outputs.read(region)
        if not within(got, wanted):
            faults.append(explain(buffer.name, got, wanted, pattern))
    return replace(faults[0], excess=max(f.excess for f in faults)) if faults else None
