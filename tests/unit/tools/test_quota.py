"""Quotas: what the machine does not have is refused with what it has; repeats become an effort."""

from __future__ import annotations

import os

import pytest

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.tasks.builtin import TASKS
from kernellab.tools.quota import Deadline, TimeSpent, check_memory, check_threads, effort_for, memory_gb, over_memory

EVENT = Event("note", "")


@pytest.mark.parametrize(
    ("repeats", "effort"), [(1, "quick"), (111, "quick"), (112, "standard"), (205, "standard"), (413, "full")]
)
def test_never_fewer_samples_than_asked_for(repeats: int, effort: str) -> None:
    assert effort_for(repeats) == effort


def test_refusals_say_what_the_machine_has() -> None:
    have = memory_gb("cpu")
    with pytest.raises(UsageError, match=f"{have:.1f} GB"):
        check_memory(have + 1, "cpu")
    check_memory(have / 2, "cpu")
    cores = len(os.sched_getaffinity(0))
    with pytest.raises(UsageError, match=f"has: {cores}"):
        check_threads(cores + 1)
    check_threads(cores)


def test_a_call_that_does_not_fit_says_what_it_needs() -> None:
    task = TASKS["softmax"]
    assert over_memory(task, {"M": 4096, "N": 4096}, 0.1).startswith("one call needs 0.134 GB")
    assert over_memory(task, {"M": 4096, "N": 4096}, 0.2) == over_memory(task, {"M": 4096, "N": 4096}, 0.0) == ""


def test_a_deadline_ends_at_the_laboratorys_next_word() -> None:
    deadline = Deadline(0.001)
    deadline.started -= 1
    with pytest.raises(TimeSpent, match="is spent"):
        deadline(EVENT)
    free = Deadline()
    free(EVENT)
    later = free.sooner(5)
    free.cancel.set()
    with pytest.raises(TimeSpent, match="took the call back"):
        later(EVENT)


def test_the_earlier_of_two_deadlines_holds() -> None:
    assert Deadline(2.0).sooner(60.0).seconds == 2.0
    assert Deadline(60.0).sooner(2.0).seconds == 2.0
    assert Deadline().sooner(0.0).seconds == 0.0
    with pytest.raises(UsageError):
        Deadline(float("nan"))
