"""How long a job is waited for."""

from __future__ import annotations

import time

import pytest

from kernellab.sandbox import patience
from kernellab.sandbox.patience import LOOK_S, MOST, Patience, share_of_processors


class Machine:
    """A clock, and a share of the processors, that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.share = 100.0, 1.0
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(patience, "share_of_processors", lambda: self.share)

    def waited(self, limit_s: float, step: float = LOOK_S) -> float:
        """How long until patience has run out."""
        began, left = self.now, Patience(limit_s)
        while left.left() > 0:
            self.now += step
        return self.now - began


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_on_a_quiet_machine_the_limit_is_the_limit(machine: Machine) -> None:
    assert machine.waited(6.0) == 6.0


@pytest.mark.parametrize(("share", "longer"), [(0.5, 2), (0.25, 4), (0.01, MOST), (0.0, MOST)])
def test_on_a_busy_one_it_is_as_much_longer_as_the_share_is_smaller_and_never_endless(
    machine: Machine, share: float, longer: float
) -> None:
    machine.share = share
    assert machine.waited(6.0) == 6.0 * longer


def test_a_time_in_which_nobody_looked_counts_as_one_look(machine: Machine) -> None:
    left = Patience(1.0)
    machine.now += 5.0
    assert left.left() == 1.0 - LOOK_S
    machine.now += 100.0
    assert left.left() <= 0


def test_the_share_is_read_from_the_machine() -> None:
    assert 0 < share_of_processors() <= 1
    began, left = time.monotonic(), Patience(0.05)
    while left.left() > 0:
        time.sleep(0.005)
    assert time.monotonic() - began >= 0.05
