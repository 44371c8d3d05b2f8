"""Which baseline is the one to beat: scripted processes, so that who is faster is no accident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.measurement.scripted import ScriptedRunner, ScriptedSlots

from kernellab.core.errors import EnvironmentFault
from kernellab.core.events import Event
from kernellab.evaluate.opponents import Opponents
from kernellab.measurement.bench import Bench
from kernellab.measurement.roofline import Floor
from kernellab.run.base import WorkerFault
from kernellab.tasks.spec import Task

GONE = WorkerFault("memory", "out of memory")


class Baseline(ScriptedRunner):
    """So many seconds a call, until a fault is met."""

    def __init__(self, slots: ScriptedSlots, name: str, seconds: float, faults_after: int = 10_000) -> None:
        super().__init__(slots, name, iter(lambda: self._turn(), None))
        self._seconds, self._left, self.closed = seconds, faults_after, False

    def _turn(self) -> Any:
        self._left -= 1
        return GONE if self._left < 0 else self._seconds

    def close(self) -> None:
        self.closed = True


class FewAtOnce:
    """A rig that has room for so many."""

    def __init__(self, runners: dict[str, Baseline], at_once: int) -> None:
        self.runners, self._at_once, self.names = runners, at_once, tuple(runners)
        self.most = 0

    def baselines_at_once(self, task: Task, dims: Any) -> int:
        return self._at_once

    def start_baselines(self, task: Task, locator: str, names: Sequence[str], ring: Any) -> dict[str, Baseline]:
        started = {name: self.runners[name] for name in names}
        for runner in started.values():
            runner.closed = False
        self._open = [*(r for r in getattr(self, "_open", []) if not r.closed), *started.values()]
        self.most = max(self.most, len(self._open))
        return started


def meet(task: Task, at_once: int, **seconds: float | tuple[float, int]) -> tuple[Opponents, FewAtOnce, list[Event]]:
    slots = ScriptedSlots(task)
    events: list[Event] = []
    runners = {
        name: Baseline(slots, name, *(given if isinstance(given, tuple) else (given,)))
        for name, given in seconds.items()
    }
    rig = FewAtOnce(runners, at_once)
    opponents = Opponents(rig, task, "", slots, events.append)  # type: ignore[arg-type]
    opponents.meet(Bench(slots, Floor(1e-9, 1e-9, "memory", 1), 1e-3))
    return opponents, rig, events


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_the_fastest_is_found_and_alone_stays_open_however_many_have_room(double_task: Task, at_once: int) -> None:
    opponents, rig, _ = meet(double_task, at_once, eager=3e-3, graph=2e-3, compiled=1e-3, tuned=4e-3)
    assert opponents.fastest is not None
    assert opponents.fastest.name == "compiled"
    assert {n: r.closed for n, r in rig.runners.items()} == {
        "eager": True,
        "graph": True,
        "compiled": False,
        "tuned": True,
    }
    assert opponents.seconds == pytest.approx({"eager": 3e-3, "graph": 2e-3, "compiled": 1e-3, "tuned": 4e-3})
    assert rig.most <= at_once + 1


def test_one_that_breaks_off_is_left_out_with_its_reason(double_task: Task) -> None:
    opponents, rig, events = meet(double_task, 5, eager=3e-3, graph=(2e-3, 3), compiled=4e-3)
    assert opponents.fastest is not None
    assert opponents.fastest.name == "eager"
    assert opponents.failed == {"graph": "out of memory"}
    assert set(opponents.samples) == {"eager", "compiled"}
    assert rig.runners["graph"].closed
    assert any("baseline graph is left out: out of memory" in e.text for e in events)


def test_the_fastest_may_break_off_while_the_next_is_timed(double_task: Task) -> None:
    """Five pairs with itself are ten calls and the proof before them one; it breaks off beside the second."""
    opponents, _, _ = meet(double_task, 5, eager=(1e-3, 13), graph=2e-3, compiled=3e-3)
    assert opponents.fastest is not None
    assert opponents.fastest.name == "graph"
    assert set(opponents.failed) == {"eager"}
    assert set(opponents.seconds) == {"graph", "compiled"}


def test_what_lost_to_one_that_breaks_off_later_is_met_again(double_task: Task) -> None:
    """The second fastest was closed when the fastest had beaten it, and would have been passed over for the slowest."""
    opponents, rig, _ = meet(double_task, 1, eager=2e-3, graph=(1e-3, 8), compiled=3e-3)
    assert opponents.fastest is not None
    assert opponents.fastest.name == "eager"
    assert set(opponents.failed) == {"graph"}
    assert opponents.seconds == pytest.approx({"eager": 2e-3, "compiled": 3e-3})
    assert [n for n, r in rig.runners.items() if not r.closed] == ["eager"]


def test_without_any_there_is_nothing_to_beat(double_task: Task) -> None:
    with pytest.raises(EnvironmentFault, match="no baseline"):
        meet(double_task, 5, eager=(1e-3, 0))
