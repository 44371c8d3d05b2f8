"""Builds come before trials, and run beside them only where they may."""

from __future__ import annotations

from threading import Event, Lock

import pytest

from kernellab.learn.building import AHEAD, built_first


@pytest.mark.parametrize("beside", [False, True])
def test_everything_is_built_once_and_handed_out_once(beside: bool) -> None:
    built: list[int] = []
    lock = Lock()

    def build(item: int) -> None:
        with lock:
            built.append(item)

    given = list(range(3 * AHEAD + 5))
    out = list(built_first(given, build, 4, beside))
    assert sorted(out) == sorted(built) == given
    assert beside or out == given


def test_nothing_is_built_while_a_trial_runs_that_builds_would_disturb() -> None:
    building, lock = [0], Lock()

    def build(_: int) -> None:
        with lock:
            building[0] += 1
        with lock:
            building[0] -= 1

    for _ in built_first(range(2 * AHEAD), build, 4, beside=False):
        assert building == [0]


def test_beside_a_device_of_its_own_the_first_that_is_built_comes_first() -> None:
    slow = Event()

    def build(item: int) -> None:
        if item == 0:
            slow.wait()

    coming = built_first(range(3), build, 2, beside=True)
    assert {next(coming), next(coming)} == {1, 2}
    slow.set()
    assert list(coming) == [0]


def test_a_build_that_fails_is_handed_out_all_the_same() -> None:
    def build(_: int) -> None:
        raise ValueError("no")

    assert list(built_first([1, 2], build, 2, beside=False)) == [1, 2]
