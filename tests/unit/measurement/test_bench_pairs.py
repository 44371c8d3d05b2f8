"""One pair of samples, step by step, on a scripted machine: who runs when, on what, and what counts."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest
from tests.unit.measurement.scripted import FIRST, SECOND, WRONG, Event, ScriptedRunner, ScriptedSlots, Turn, preempted

from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Rejected
from kernellab.core.settings import Effort
from kernellab.measurement.bench import Arm, Bench, Pairs, Unfit
from kernellab.measurement.roofline import Floor
from kernellab.run.base import WorkerFault
from kernellab.tasks.spec import Task

EFFORT = Effort(least_pairs=5, trial_pairs=11, confirm_pairs=15, processes=3, narrow=0.0, trials=1, confirmations=1)
SAMPLE_S = 0.002
LONG = 0.004
"""Seconds of a call that is a sample by itself."""


def bench(slots: ScriptedSlots, **more: Any) -> Bench:
    return Bench(slots, Floor(1e-9, 1e-9, "memory", 1), SAMPLE_S, timeout_s=5.0, **more)


def ours(slots: ScriptedSlots, *script: Turn, **more: Any) -> Arm:
    """The candidate: the script, and its last turn for ever."""
    return Arm("candidate", ScriptedRunner(slots, "ours", chain(script, repeat(script[-1])), **more), 0)


def theirs(slots: ScriptedSlots, *script: Turn, **more: Any) -> Arm:
    return Arm("numpy", ScriptedRunner(slots, "theirs", chain(script, repeat(script[-1])), **more), 1, trusted=True)


def steps(slots: ScriptedSlots, *kinds: str) -> list[Event]:
    return [event for event in slots.events if event[0] in kinds]


@pytest.mark.parametrize(("order", "runs"), [(FIRST, ["ours", "theirs"]), (SECOND, ["theirs", "ours"])])
def test_a_pair_is_prepared_filled_flushed_run_and_only_then_checked(
    order: bool, runs: list[str], double_task: Task
) -> None:
    slots = ScriptedSlots(double_task, order=[order])
    first, second, pairs = ours(slots, LONG), theirs(slots, 2 * LONG), Pairs()
    first.calls = 3
    it = bench(slots)
    cpu = max(os.sched_getaffinity(0))
    it.pair(first, second, pairs)
    samples: dict[str, Event] = {"ours": ("run", "ours", [0, 1, 2]), "theirs": ("run", "theirs", [16])}
    assert slots.events == [
        ("pin", "ours", cpu), ("prepare", "ours", [0, 1, 2]), ("pin", "theirs", cpu), ("prepare", "theirs", [16]),
        ("fill", 0, 3, 0, -1), ("flush",), *(samples[name] for name in runs), ("begin", "ours", [16, 17, 18]), ("check", 0),
    ]  # fmt: skip
    assert (pairs.first, pairs.second, pairs.dropped) == ([LONG], [2 * LONG], [])
    assert (first.checked, second.checked) == (3, 0)


def test_two_untrusted_arms_both_get_new_inputs_and_both_are_checked(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    first, second = ours(slots, LONG), ours(slots, LONG)
    second.side, second.calls = 1, 2
    bench(slots).pair(first, second, Pairs())
    assert steps(slots, "fill") == [("fill", 0, 1, 0, -1), ("fill", 1, 2, 1, -1)]
    assert steps(slots, "check") == [("check", 0), ("check", 1)]
    assert (first.checked, second.checked) == (1, 2)


def test_an_arm_that_has_loaded_ahead_gets_the_set_that_it_loaded(double_task: Task) -> None:
    """Each loads on the set that the other had; the next pair is then the other way round, whatever is picked."""
    slots = ScriptedSlots(double_task, sets=[(0, 1), (0, 1), (1, 0)])
    first, second, pairs = ours(slots, LONG, begins=True), theirs(slots, LONG, begins=True), Pairs()
    it = bench(slots)
    it.pair(first, second, pairs)
    assert (first.coming, second.coming) == (1, None), "what is trusted has nothing to load"
    it.pair(first, second, pairs)
    assert steps(slots, "run") == [
        ("run", "ours", [0]), ("run", "theirs", [16]), ("run", "ours", [16]), ("run", "theirs", [0])
    ]  # fmt: skip
    assert first.coming == 0


def test_one_worker_against_itself_does_not_load_ahead(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    arm = ours(slots, LONG, begins=True)
    bench(slots).pair(arm, arm, Pairs())
    assert steps(slots, "begin") == []
    assert arm.coming is None


@pytest.mark.parametrize(
    ("mine", "other"), [(preempted(LONG), LONG), (LONG, preempted(LONG)), (preempted(LONG), preempted(LONG))]
)
def test_a_pair_in_which_either_was_preempted_is_set_aside_and_the_next_runs_elsewhere(
    mine: Turn, other: Turn, double_task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5, 7})
    slots = ScriptedSlots(double_task)
    first, second, pairs = ours(slots, mine, mine, LONG), theirs(slots, other, other, LONG), Pairs()
    it = bench(slots)
    for _ in range(4):
        it.pair(first, second, pairs)
    assert pairs.dropped == [(LONG, LONG)] * 2
    assert pairs.first == [LONG] * 2
    assert [event[2] for event in steps(slots, "pin")] == [7, 7, 2, 2, 5, 5, 5, 5]


def test_seconds_are_a_calls_also_where_a_pair_is_set_aside(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    first, second, pairs = ours(slots, preempted(0.001)), theirs(slots, 0.002), Pairs()
    first.calls, second.calls = 4, 2
    bench(slots).pair(first, second, pairs)
    assert pairs.dropped == [(0.001, 0.002)]


def test_a_wrong_output_ends_it_before_the_pair_counts(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    slots.faults = iter([WRONG])
    first, pairs = ours(slots, LONG), Pairs()
    with pytest.raises(Unfit) as unfit:
        bench(slots).pair(first, theirs(slots, LONG), pairs)
    assert unfit.value.arm is first
    assert unfit.value.rejected == Rejected(
        cause="wrong-output", reason="y: 1 of 4096 elements wrong", case="timed call", max_abs_err=1.0, max_ulp=9.0
    )
    assert (pairs.first, first.checked) == ([], 0)


def test_a_call_may_take_so_long_and_no_longer(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    first, second = ours(slots, LONG), theirs(slots, LONG)
    bench(slots).trial(first, second, EFFORT, 0.0)
    for arm in (first, second):
        assert isinstance(arm.worker, ScriptedRunner)
        assert arm.worker.timeouts == {5.0}


@pytest.mark.parametrize("where", ["prepare", "run"])
def test_a_candidate_that_breaks_off_is_rejected_and_a_baseline_that_does_is_the_machines_fault(
    where: str, double_task: Task
) -> None:
    gone = WorkerFault("crash", "gone")

    def broken(arm: Arm) -> Arm:
        if where == "prepare":
            assert isinstance(arm.worker, ScriptedRunner)
            arm.worker.unprepared = gone
        return arm

    slots = ScriptedSlots(double_task)
    turn: Turn = LONG if where == "prepare" else gone
    found = bench(slots).trial(broken(ours(slots, turn)), theirs(slots, LONG), EFFORT, 0.0)
    case = "before a timed call" if where == "prepare" else "timed call"
    assert found == Rejected(cause="crash", reason="gone", case=case)
    with pytest.raises(EnvironmentFault, match="the baseline numpy broke off: gone") as fault:
        bench(slots).confirm([(ours(slots, LONG), broken(theirs(slots, turn)))], EFFORT)
    assert fault.value.fix == "'klab resume' goes on"


@pytest.mark.parametrize(
    ("seconds", "calls", "wanted"),
    [
        (0.7 * SAMPLE_S, 1, 1),  # just long enough
        (0.69 * SAMPLE_S, 1, 2),
        (0.1 * SAMPLE_S, 1, 10),
        (0.1 * SAMPLE_S, 3, 10),
        (0.1 * SAMPLE_S / 3, 3, 16),  # no more than there are slots
        (0.6 * SAMPLE_S / 15, 15, 16),
        (0.5 * SAMPLE_S / 16, 16, 16),  # there are no more, so it counts
    ],
)
def test_a_sample_too_short_to_clock_does_not_count_and_the_next_has_more_calls(
    seconds: float, calls: int, wanted: int, double_task: Task
) -> None:
    slots = ScriptedSlots(double_task)
    first, second, pairs = ours(slots, seconds), theirs(slots, LONG), Pairs()
    first.calls = calls
    bench(slots).pair(first, second, pairs)
    assert (first.calls, second.calls) == (wanted, 1)
    assert len(pairs.first) == (1 if wanted == calls else 0)
    assert pairs.dropped == []
    assert first.checked == calls, "judged all the same"


def test_either_arm_may_be_the_short_one(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    first, second, pairs = ours(slots, LONG), theirs(slots, 0.0005), Pairs()
    bench(slots).pair(first, second, pairs)
    assert (first.calls, second.calls, pairs.first) == (1, 4, [])


def test_one_arm_against_itself_is_lengthened_once(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    arm = ours(slots, 0.0012, 0.0004)
    bench(slots).pair(arm, arm, Pairs())
    assert arm.calls == 2


def test_a_sample_of_no_time_at_all_is_taken_for_a_microsecond(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, slots=4096)
    arm = ours(slots, 0.0)
    bench(slots).pair(arm, theirs(slots, LONG), Pairs())
    assert 2000 <= arm.calls <= 2001
    baseline = theirs(slots, 0.0)
    bench(slots).compare(arm, baseline, 0)
    assert 2000 <= baseline.calls <= 2001, "nor at the first call"


@pytest.mark.parametrize(
    ("seconds", "calls"), [(LONG, 1), (SAMPLE_S, 1), (0.0015, 2), (0.0005, 4), (1e-5, 16), (0.0, 16)]
)
def test_the_first_call_of_a_baseline_tells_how_many_make_a_sample(
    seconds: float, calls: int, double_task: Task
) -> None:
    slots = ScriptedSlots(double_task)
    first, second = ours(slots, LONG), theirs(slots, seconds)
    bench(slots).compare(first, second, 0)
    assert (first.calls, second.calls) == (1, calls)
    assert slots.events == [
        ("prepare", "theirs", [0]), ("flush",), ("run", "theirs", [0]),
        ("prepare", "ours", list(range(16, 16 + calls))), ("prepare", "ours", [0]), ("fill", 0, 1, 0, -1), ("flush",),
        ("run", "ours", [0]), ("check", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("warm_s", "calls"),
    [(0.0005, 4), (0.00149, 4), (0.0015, 2), (0.004, 1), (1e-5, 4)],
    ids=["as fast", "not three times as long", "too long", "one is enough", "faster"],
)
def test_a_candidate_is_taken_to_be_as_fast_as_its_opponent_unless_its_first_call_tells_otherwise(
    warm_s: float, calls: int, double_task: Task
) -> None:
    slots = ScriptedSlots(double_task)
    first, second = ours(slots, 0.0005, warm_s=warm_s), theirs(slots, 0.0005)
    bench(slots).compare(first, second, 0)
    assert (first.calls, first.coming) == (calls, 1)
    assert steps(slots, "run") == [("run", "theirs", [0])], "no other call is needed"


def test_a_candidate_begins_with_as_many_calls_as_the_one_before_it_had(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    it = bench(slots)
    before, second = ours(slots, 0.0002, warm_s=0.0002), theirs(slots, LONG)
    it.compare(before, second, 3)
    after = ours(slots, 0.0002, warm_s=0.0002)
    it.compare(after, second, 0)
    assert (before.calls, after.calls) == (10, 10)
    it.compare(theirs(slots, LONG), theirs(slots, LONG), 3)
    last = ours(slots, 0.0002, warm_s=0.0002)
    it.compare(last, second, 0)
    assert last.calls == 10, "a baseline's calls are no candidate's"


def test_an_arm_that_knows_its_calls_is_not_warmed_up_again(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    first, second = ours(slots, LONG), theirs(slots, LONG)
    first.calls = second.calls = 2
    bench(slots).compare(first, second, 0)
    assert slots.events == []


def test_the_set_loaded_by_the_first_call_is_the_one_of_the_first_pair(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, sets=[(0, 1), (1, 0), (0, 1), (1, 0)])
    first, second = ours(slots, LONG, warm_s=LONG), theirs(slots, LONG)
    bench(slots).compare(first, second, 1)
    prepared = [event[2] for event in steps(slots, "prepare") if event[1] == "ours"]
    assert prepared == [[16], [16]]


def test_a_proof_is_one_call_with_a_known_answer(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    arm = theirs(slots, LONG)
    assert bench(slots).prove(arm) == ("", True)
    assert slots.events == [
        ("prepare", "theirs", [0]), ("fill", 0, 1, 1, -1), ("flush",), ("run", "theirs", [0]), ("check", 0)
    ]  # fmt: skip
    slots.faults = iter([WRONG])
    assert bench(slots).prove(arm) == ("y: 1 of 4096 elements wrong", False)


@pytest.mark.parametrize(("excess", "usable"), [(1.2, True), (64.0, True), (64.1, False)])
def test_a_rough_baseline_is_still_the_one_to_beat(excess: float, usable: bool, double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    slots.faults = repeat(replace(WRONG, excess=excess))
    arm = Arm("torch", ScriptedRunner(slots, "theirs", repeat(LONG)), 1, trusted=True)
    assert bench(slots).prove(arm) == (WRONG.reason, usable)
