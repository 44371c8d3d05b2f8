from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.measurement import quiet
from kernellab.measurement.quiet import idle_processors, wait_for_quiet


def test_the_idle_processors_are_counted_from_the_kernels_books() -> None:
    assert 0 <= idle_processors(0.05) <= len(os.sched_getaffinity(0)) + 0.01


def test_a_system_that_does_not_say_makes_nobody_wait(tmp_path: Path) -> None:
    assert idle_processors(0.0, tmp_path / "nothing") == len(os.sched_getaffinity(0))
    (tmp_path / "odd").write_text("cpu0 words\n")
    assert idle_processors(0.0, tmp_path / "odd") == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [([0, 0, 0, 0, 0], [50, 0, 0, 50, 0], 0.5), ([9, 9, 9, 9, 9], [9, 9, 9, 59, 59], 1.0), ([1] * 5, [1] * 5, 1.0)],
)
def test_idle_is_idle_time_and_waiting_for_a_disk(before: list[int], after: list[int], share: float) -> None:
    assert quiet._share(before, after) == share


def test_a_machine_that_never_becomes_quiet_is_waited_for_no_longer_than_asked() -> None:
    told: list[str] = []
    assert not wait_for_quiet(10_000, 0.0, told.append, look_s=0.01)
    assert not wait_for_quiet(10_000, 0.05, told.append, look_s=0.01)
    assert len(told) == 1
    assert "waiting for a quiet machine" in told[0]
    assert "10000 needed" in told[0]


def books(idle: int, waiting: int, busy: int, cpus: set[int]) -> str:
    """/proc/stat: user, nice, system, idle, waiting, for all processors together and for each."""
    line = f"{busy} 0 0 {idle} {waiting}"
    return "".join(f"cpu{n} {line}\n" for n in ["", *sorted(cpus), 99])


def test_the_shares_of_the_processors_that_may_be_used_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat, asked = tmp_path / "stat", []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: asked.append(pid) or {1, 4})
    stat.write_text(books(0, 0, 0, {1, 4}))

    def later(seconds: float) -> None:
        assert seconds == 0.5
        stat.write_text(books(20, 10, 70, {1, 4}))

    monkeypatch.setattr(time, "sleep", later)
    assert idle_processors(stat=stat) == pytest.approx(2 * 0.3)
    assert asked == [0], "of this process"


class Clock:
    """Stands still but for the looks, each of which takes a second; so many processors are idle at each."""

    def __init__(self, *idle: float) -> None:
        self.now, self._idle = 0.0, iter(idle)

    def look(self, look_s: float) -> float:
        self.now += 1.0
        return next(self._idle)


@pytest.fixture
def clocked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Clock]:
    def made(*idle: float) -> Clock:
        clock = Clock(*idle)
        monkeypatch.setattr(time, "monotonic", lambda: clock.now)
        monkeypatch.setattr(quiet, "idle_processors", clock.look)
        return clock

    return made


def test_nine_tenths_of_the_processors_are_enough(clocked: Callable[..., Clock]) -> None:
    clocked(0.0, 1.79, 1.8)
    told: list[str] = []
    assert wait_for_quiet(2, 60.0, told.append)
    assert told == ["waiting for a quiet machine: 0.0 processors are idle, 2 needed (59 s left)"]


def test_the_time_is_over_when_it_is_over_and_not_before(clocked: Callable[..., Clock]) -> None:
    clock = clocked(*[0.0] * 10)
    assert not wait_for_quiet(1, 3.0, lambda _: None)
    assert clock.now == 3.0


def test_it_is_told_every_ten_seconds(clocked: Callable[..., Clock]) -> None:
    clocked(*[0.0] * 25, 1.0)
    told: list[str] = []
    assert wait_for_quiet(1, 60.0, told.append)
    assert [text.rpartition("(")[2] for text in told] == ["59 s left)", "49 s left)", "39 s left)"]


def test_nothing_needed_is_there_at_once() -> None:
    assert wait_for_quiet(0, 0.0, lambda _: None, look_s=0.01)
