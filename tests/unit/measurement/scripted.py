"""Stand-ins for the hardware under the bench: a clock and processes that follow a script, buffers that hold nothing, dice that
fall as they are told. Everything that the bench does with them is noted in one list, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, repeat

from kernellab.measurement.base import Filling, Slots
from kernellab.run.base import Sample, WorkerFault
from kernellab.tasks.spec import Task
from kernellab.verdict.numeric import Mismatch

Event = tuple[object, ...]
Turn = float | Sample | WorkerFault
"""Seconds of one call; or a whole sample, such as a preempted one; or the end of the process."""
FIRST, SECOND = True, False
WRONG = Mismatch("wrong-output", "y: 1 of 4096 elements wrong", 1.0, 9.0)


def preempted(seconds: float) -> Sample:
    return Sample(seconds, True)


class ScriptedSlots(Slots):
    """`order`: which arm goes first, pair by pair; `sets`: which sets are picked; `chance`: what becomes of other tosses, by
    their probability. `faults`: what the checks find, one after the other; `hidden`: whether later slots were written."""

    def __init__(
        self,
        task: Task,
        slots: int = 16,
        order: Iterable[bool] = repeat(FIRST),
        sets: Iterable[tuple[int, int]] = ((0, 1), (1, 0)),
        chance: Callable[[float], bool] = lambda _: False,
        other: int = 0,
    ) -> None:
        super().__init__(task, {"N": 4096}, slots, bytes(32))
        self.events: list[Event] = []
        self.chances: list[float] = []
        self.faults: Iterator[Mismatch | None] = repeat(None)
        self.hidden = False
        self._order, self._picked, self._chance, self._other = iter(order), cycle(sets), chance, other

    def pick_sets(self) -> tuple[int, int]:
        return next(self._picked)

    def toss(self, chance: float | None = None) -> bool:
        """The bench asks without a probability for the order of a pair, and for that only."""
        if chance is None:
            return next(self._order)
        self.chances.append(chance)
        return self._chance(chance)

    def fill(self, number: int, count: int, side: int, other: int = -1) -> Filling:
        self.events.append(("fill", number, count, side, other))
        return Filling(side, [], dict.fromkeys(range(count), 0))

    def others(self) -> int:
        return self._other

    def flush(self) -> None:
        self.events.append(("flush",))

    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        self.events.append(("check", number))
        return next(self.faults), len(filling.entries)

    def untouched(self, number: int, filling: Filling) -> bool:
        self.events.append(("untouched", number))
        return not self.hidden

    def renew(self) -> None: ...

    def close(self) -> None: ...


class ScriptedRunner:
    """`warm_s`: what an uncounted call takes while a sample is prepared, where there is one; `begins`: whether it can load
    ahead. The script is asked once a counted sample."""

    def __init__(
        self, slots: ScriptedSlots, name: str, script: Iterable[Turn], warm_s: float = 0.0, begins: bool = False
    ) -> None:
        self._events, self._name, self._script = slots.events, name, iter(script)
        self._warm_s, self._begins = warm_s, begins
        self.unprepared: WorkerFault | None = None
        self.timeouts: set[float] = set()

    def ready(self) -> ScriptedRunner:
        return self

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        return False

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        self._events.append(("begin", self._name, list(calls)))
        return self._begins

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        self.timeouts.add(timeout_s)
        self._events.append(("prepare", self._name, list(calls)))
        if self.unprepared is not None:
            raise self.unprepared
        return self._warm_s

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        self.timeouts.add(timeout_s)
        self._events.append(("run" if counted else "uncounted", self._name, list(calls)))
        turn = next(self._script)
        if isinstance(turn, WorkerFault):
            raise turn
        if isinstance(turn, Sample):
            return Sample(turn.seconds * len(calls), turn.preempted)
        return Sample(turn * len(calls), False)

    def pin(self, cpu: int) -> None:
        self._events.append(("pin", self._name, cpu))

    def remarks(self) -> dict[str, int | str]:
        return {"runner": self._name}

    def end(self) -> None: ...

    def close(self) -> None: ...
