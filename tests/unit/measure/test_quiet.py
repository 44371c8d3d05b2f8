from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernellab.measure import quiet
from kernellab.measure.quiet import idle_processors, wait_for_quiet


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


def test_nothing_needed_is_there_at_once() -> None:
    assert wait_for_quiet(0, 0.0, lambda _: None, look_s=0.01)
