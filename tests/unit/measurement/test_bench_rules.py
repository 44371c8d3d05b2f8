"""When a measurement looks, stops, is disturbed, or is too good, on a scripted machine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, repeat
from typing import Any

import pytest
from tests.unit.measurement.scripted import WRONG, ScriptedRunner, ScriptedSlots, Turn, preempted
from tests.unit.measurement.test_bench_pairs import EFFORT, LONG, SAMPLE_S, bench, ours, steps, theirs

from kernellab.core.records import Rejected, Timing
from kernellab.core.settings import EFFORTS
from kernellab.measurement.bench import Arm, Bench, Busy, Pairs, Unfit
from kernellab.measurement.roofline import Floor
from kernellab.measurement.stats import paired_speedup
from kernellab.tasks.spec import Task

LOOKS = [3, 5, 7, 9, 11, 15, 21, 31, 41, 61, 81, 121, 161, 201, 241, 301, 401]
"""Fixed before anything is measured: looking more often would find luck more often."""


def test_nobody_looks_but_at_the_fixed_looks(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    looked: list[int] = []

    def enough(pairs: Pairs) -> None:
        looked.append(len(pairs.first))

    pairs, stopped = bench(slots).compare(ours(slots, LONG), theirs(slots, LONG), 500, enough)
    assert looked == LOOKS
    assert (len(pairs.first), stopped) == (500, "budget")


def test_it_stops_at_the_look_that_says_so_and_settles(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    script = cycle([LONG, preempted(LONG), preempted(LONG)])
    first = Arm("candidate", ScriptedRunner(slots, "ours", script), 0, calls=2)
    pairs, stopped = bench(slots).compare(
        first, theirs(slots, LONG), 100, lambda p: "narrow" if len(p.first) >= 5 else None
    )
    assert (stopped, len(pairs.first), len(pairs.dropped), pairs.disturbed) == ("narrow", 5, 8, True)


@pytest.mark.parametrize(
    ("kept", "dropped", "disturbed"), [(10, 9, False), (10, 10, True), (1, 0, False), (1, 1, True)]
)
def test_half_of_the_tries_set_aside_is_disturbed_and_the_others_stay_the_figures(
    kept: int, dropped: int, disturbed: bool
) -> None:
    pairs = Pairs([1.0] * kept, [2.0] * kept, [(3.0, 4.0)] * dropped)
    pairs.settle()
    assert pairs == Pairs([1.0] * kept, [2.0] * kept, [(3.0, 4.0)] * dropped, disturbed)


def test_where_every_try_was_set_aside_they_have_to_serve_as_figures() -> None:
    pairs = Pairs([], [], [(3.0, 4.0), (5.0, 6.0)])
    pairs.settle()
    assert pairs == Pairs([3.0, 5.0], [4.0, 6.0], [], disturbed=True)


def test_twice_as_many_tries_as_pairs_and_no_more(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    pairs, stopped = bench(slots).compare(ours(slots, preempted(LONG)), theirs(slots, LONG), 10)
    assert (stopped, pairs.disturbed, len(pairs.first), pairs.dropped) == ("budget", True, 20, [])
    assert len([e for e in steps(slots, "run") if e[1] == "ours"]) == 1 + 20


def ratios(slots: ScriptedSlots, values: list[float]) -> tuple[Arm, Arm]:
    """Arms whose pairs have these speed-ups, in this order and again; what they run before does not count."""
    first = Arm("candidate", ScriptedRunner(slots, "ours", repeat(LONG)), 0, calls=2)
    return first, Arm("numpy", ScriptedRunner(slots, "theirs", (LONG * v for v in cycle(values))), 1, True, calls=2)


@pytest.mark.parametrize(
    ("incumbent", "stopped", "pairs"),
    [(2.51, "raced", 3), (2.5, "raced", 5), (2.01, "raced", 5), (2.0, "budget", 11), (0.0, "budget", 11)],
)
def test_what_is_clearly_slower_than_the_best_is_given_up(
    incumbent: float, stopped: str, pairs: int, double_task: Task
) -> None:
    """At twice the baseline's speed: hopeless below four fifths of the best at once, slower than the best at five pairs."""
    slots = ScriptedSlots(double_task)
    timing = bench(slots).trial(*ratios(slots, [2.0]), EFFORT, incumbent)
    assert isinstance(timing, Timing)
    assert (timing.stopped, len(timing.candidate_s)) == (stopped, pairs)


@pytest.mark.parametrize(
    ("same", "share"),
    [([1.0, 1.01, 1.0], 0.95), ([1.0, 1.08, 0.97], 0.84), ([1.0, 0.92, 1.0], 0.84), ([1.0, 1.5], 0.8)],
)
def test_the_less_a_thing_differs_from_itself_the_sooner_a_slower_one_is_given_up(
    same: list[float], share: float, double_task: Task
) -> None:
    slots = ScriptedSlots(double_task)
    tried = bench(slots)
    tried.learn_spread(Pairs(same, [1.0] * len(same)))
    assert tried.hopeless == pytest.approx(share)
    for incumbent, pairs in ((2.0 / share + 0.01, 3), (2.0 / share - 0.01, 5)):
        timing = tried.trial(*ratios(slots, [2.0]), EFFORT, incumbent)
        assert isinstance(timing, Timing)
        assert (timing.stopped, len(timing.candidate_s)) == ("raced", pairs)


SPREAD = [2.0, 1.0, 1.9, 1.1, 1.8, 1.2, 1.7, 1.3, 1.6, 1.4, 1.5]


def test_it_is_given_up_by_the_wider_interval(double_task: Task) -> None:
    wide, usual = (paired_speedup([1.0] * 11, SPREAD, level).high for level in (0.99, 0.95))
    assert wide > usual
    late = EFFORT.model_copy(update={"least_pairs": 11, "trial_pairs": 15})
    for incumbent, pairs in ((wide + 1e-9, 11), ((wide + usual) / 2, 15)):
        slots = ScriptedSlots(double_task)
        timing = bench(slots).trial(*ratios(slots, SPREAD), late, incumbent)
        assert isinstance(timing, Timing)
        assert len(timing.candidate_s) == pairs


def test_before_the_least_number_of_pairs_the_wider_interval_counts_too(double_task: Task) -> None:
    """Three pairs: their interval is all of them."""
    for incumbent, pairs in ((2.0 / 0.8 + 1e-9, 3), (2.0 / 0.8, 11)):
        slots = ScriptedSlots(double_task)
        first, second = ratios(slots, [2.0, 1.0, 1.0] + [2.4] * 8)
        timing = bench(slots).trial(first, second, EFFORT, incumbent)
        assert isinstance(timing, Timing)
        assert len(timing.candidate_s) == pairs or timing.stopped == "raced"
        assert (len(timing.candidate_s) == 3) == (pairs == 3)


@pytest.mark.parametrize(("more", "stopped"), [(1e-9, "narrow"), (0.0, "budget")])
def test_it_ends_when_the_usual_interval_is_narrower_than_asked(more: float, stopped: str, double_task: Task) -> None:
    half = paired_speedup([1.0] * 11, SPREAD).half_width
    effort = EFFORT.model_copy(update={"least_pairs": 11, "trial_pairs": 13, "narrow": half + more})
    slots = ScriptedSlots(double_task)
    timing = bench(slots).trial(*ratios(slots, SPREAD), effort, 0.0)
    assert isinstance(timing, Timing)
    assert timing.stopped == stopped


@pytest.mark.parametrize(("confirming", "often"), [(True, 2.0), (False, 0.5)], ids=["confirmation", "trial"])
def test_calls_are_made_alone_by_chance_at_the_beginning_and_again_later(
    confirming: bool, often: float, double_task: Task
) -> None:
    """The first five tries, and then all of them, share so many look-outs; tries that were set aside are tries."""
    slots = ScriptedSlots(double_task)
    first, second = (
        Arm("candidate", ScriptedRunner(slots, "ours", cycle([LONG, LONG, preempted(LONG)])), 0, calls=2),
        theirs(slots, LONG),
    )
    second.calls = 2
    effort = EFFORT.model_copy(update={"trial_pairs": 10, "confirm_pairs": 30})
    bench(slots).confirm([(first, second)], effort) if confirming else bench(slots).trial(first, second, effort, 0.0)
    tries = len([e for e in steps(slots, "run") if e[1] == "ours"])
    assert tries == 14
    assert slots.chances == pytest.approx([often / 5] * 5 + [often / 10] * 9)


def test_a_call_made_alone_is_the_first_of_a_filled_set_and_the_rest_must_be_untouched(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, chance=lambda p: p == 0.4)
    first, second = ours(slots, 0.001), theirs(slots, LONG)
    first.calls = 2
    bench(slots).compare(first, second, 1)
    at = slots.events.index(("untouched", 1))
    assert slots.events[at - 4 : at + 1] == [
        ("prepare", "ours", [16, 17]), ("fill", 1, 2, 0, -1), ("flush",), ("run", "ours", [16]), ("untouched", 1)
    ]  # fmt: skip
    slots.hidden = True
    with pytest.raises(Unfit) as unfit:
        bench(slots).compare(first, second, 1)
    reason = "one call also wrote the outputs of calls that had not been made yet"
    assert unfit.value.rejected == Rejected(cause="hidden-work", reason=reason, case="timed call")


def test_nobody_looks_out_for_what_is_trusted_or_has_one_call_a_sample(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, chance=lambda _: True)
    first, second = ours(slots, LONG), theirs(slots, LONG)
    second.calls = 2
    bench(slots).compare(first, second, 3)
    assert steps(slots, "untouched") == []


def rehearsals(slots: ScriptedSlots) -> list[object]:
    """Which distributions were rehearsed, in order."""
    return [event[4] for event in steps(slots, "fill") if event[4] != -1]


def test_every_other_distribution_is_rehearsed_once_by_chance_or_at_the_end(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, other=3)
    pairs, _ = bench(slots).compare(ours(slots, LONG), theirs(slots, LONG), 4, rehearsed=True)
    assert rehearsals(slots) == [0, 1, 2]
    assert len(pairs.first) == 4
    assert slots.chances[1::2] == pytest.approx([3 / 4, 3 / 3, 3 / 2, 3 / 1]), "the more are left, the likelier"
    last = [event[0] for event in slots.events[-5:]]
    assert last == ["prepare", "fill", "flush", "run", "check"]


def test_a_rehearsal_comes_before_its_pair_and_is_not_counted(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, other=2, chance=lambda p: p >= 0.6)
    first, second = ours(slots, LONG), theirs(slots, LONG)
    pairs, _ = bench(slots).compare(first, second, 3, rehearsed=True)
    assert rehearsals(slots) == [1, 0]
    assert slots.chances[1::2] == pytest.approx([2 / 3, 1 / 2, 1 / 1])
    assert (len(pairs.first), first.checked) == (3, 3)
    ours_run = [e for e in steps(slots, "run") if e[1] == "ours"]
    assert len(ours_run) == 1 + 3 + 2
    assert len(steps(slots, "run")) - len(ours_run) == 1 + 3, "a baseline has nothing to rehearse"


def test_without_being_asked_nothing_is_rehearsed(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, other=3, chance=lambda _: True)
    bench(slots).trial(ours(slots, LONG), theirs(slots, LONG), EFFORT, 0.0)
    assert rehearsals(slots) == []


def test_what_is_wrong_in_a_rehearsal_is_rejected(double_task: Task) -> None:
    slots = ScriptedSlots(double_task, other=1)
    slots.faults = iter([*[None] * 6, WRONG])  # the first call, five pairs, the rehearsal at the end
    found = bench(slots).confirm([(ours(slots, LONG), theirs(slots, LONG))], EFFORT)
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("wrong-output", "timed call")


def test_a_confirmation_takes_its_share_of_pairs_from_each_process_and_asks_for_no_more_processes(
    double_task: Task,
) -> None:
    slots = ScriptedSlots(double_task)
    opened: list[Arm] = []

    def arms() -> Iterator[tuple[Arm, Arm]]:
        for seconds in (0.004, 0.005, 0.006, 0.007):
            opened.append(ours(slots, seconds))
            yield opened[-1], theirs(slots, 0.012)

    timing = bench(slots).confirm(arms(), EFFORT.model_copy(update={"confirm_pairs": 17}))
    assert isinstance(timing, Timing)
    assert len(opened) == 3
    assert timing.processes == [5, 5, 5]
    assert timing.candidate_s == [0.004] * 5 + [0.005] * 5 + [0.006] * 5
    assert timing.checked == 15, "of all processes, not of the last alone"
    assert (timing.stopped, timing.disturbed, timing.latency_s) == ("budget", False, 0.005)


def test_a_disturbed_process_is_the_last_one_and_marks_the_whole(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    scripts: list[Turn] = [LONG, preempted(LONG), LONG]
    timing = bench(slots).confirm(((ours(slots, s), theirs(slots, LONG)) for s in scripts), EFFORT)
    assert isinstance(timing, Timing)
    assert (timing.processes, timing.disturbed) == ([5, 10], True)


def floored(slots: ScriptedSlots, floor_s: float, again: Any = None, **more: Any) -> Bench:
    return Bench(slots, Floor(floor_s, floor_s / 2, "compute", 3), SAMPLE_S, floor_again=again, **more)


FLOOR_S = 0.005
FIGURES = "3999.0 us a call, 5000.0 us (compute)"


def measured(slots: ScriptedSlots, it: Bench, *script: Turn) -> Timing | Rejected | Busy:
    return it.trial(ours(slots, *script), theirs(slots, LONG), EFFORT, 0.0)


def test_a_fifth_below_the_floor_is_allowed_and_more_is_too_good(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    assert isinstance(measured(slots, floored(slots, FLOOR_S), 0.8 * FLOOR_S), Timing)
    found = measured(slots, floored(slots, FLOOR_S), 0.003999)
    assert found == Rejected(
        cause="too-good", reason=f"faster than what this machine can do at best: {FIGURES}", case=""
    )


@pytest.mark.parametrize(
    ("seconds", "again_s", "asked", "kept_s"),
    [(0.8 * FLOOR_S, 1.0, 0, FLOOR_S), (0.003999, 0.004, 1, 0.004)],
    ids=["fast enough", "too good, until the ceilings are measured again"],
)
def test_ceilings_are_measured_again_only_where_they_are_beaten(
    seconds: float, again_s: float, asked: int, kept_s: float, double_task: Task
) -> None:
    slots = ScriptedSlots(double_task)
    times: list[int] = []

    def again() -> tuple[Floor, bool]:
        times.append(1)
        return Floor(again_s, again_s, "memory", 3), True

    it = floored(slots, FLOOR_S, again)
    timing = measured(slots, it, seconds)
    assert isinstance(timing, Timing)
    assert (len(times), timing.floor_s, it.floor.seconds) == (asked, kept_s, kept_s)


@pytest.mark.parametrize(("sure", "script"), [(False, 0.003999), (True, preempted(0.003999))])
def test_where_the_machine_is_busy_nothing_is_said_against_a_candidate(
    sure: bool, script: Turn, double_task: Task
) -> None:
    slots = ScriptedSlots(double_task)
    it = floored(slots, FLOOR_S, lambda: (Floor(FLOOR_S, FLOOR_S, "compute", 3), sure))
    told = f"others use this machine, so what it can do at best cannot be told: {FIGURES}"
    assert measured(slots, it, script) == Busy(told)


def test_a_timing_is_what_its_samples_give(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    it = floored(slots, 0.001, conditions=lambda: {"celsius": 41, "runner": "nobody"})
    first, second = ours(slots, LONG), theirs(slots, 3 * LONG)
    timing = it.trial(first, second, EFFORT, 0.0)
    assert isinstance(timing, Timing)
    assert timing.model_dump() == {
        **timing.model_dump(),
        "baseline": "numpy", "threads": 3, "calls": 1, "candidate_s": [LONG] * 11, "baseline_s": [3 * LONG] * 11,
        "dropped": [], "disturbed": False, "speedup": 3.0, "speedup_low": 3.0, "speedup_high": 3.0, "latency_s": LONG,
        "gb_per_s": 2 * 4 * 4096 / LONG / 1e9, "floor_s": 0.001, "memory_floor_s": 0.0005, "of_floor": 0.25,
        "of_memory_floor": 0.125, "checked": 11, "stopped": "budget", "conditions": {"celsius": 41, "runner": "ours"},
        "processes": [],
    }  # fmt: skip


def test_pairs_set_aside_are_recorded_beside_the_figures(double_task: Task) -> None:
    slots = ScriptedSlots(double_task)
    timing = bench(slots).trial(ours(slots, LONG, LONG, preempted(2 * LONG), LONG), theirs(slots, LONG), EFFORT, 0.0)
    assert isinstance(timing, Timing)
    assert (timing.dropped, timing.checked, timing.disturbed) == ([(2 * LONG, LONG)], 12, False)


@pytest.mark.parametrize("effort", EFFORTS.values(), ids=EFFORTS)
def test_every_efforts_pairs_are_shared_out_evenly(effort: Any) -> None:
    assert effort.confirm_pairs % effort.processes == 0
