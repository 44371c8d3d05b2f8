from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kernellab.measurement import ring as measure_ring
from kernellab.measurement.base import SETS
from kernellab.measurement.ring import Ring, last_level_cache, slots_for
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import STANDARD, draw_normal, draw_offset
from kernellab.tasks.oracle import run_trusted
from kernellab.tasks.spec import Array, Buffer, Task

SEED = bytes(range(32))


def make(**changes: Any) -> Task:
    fields: dict[str, Any] = {
        "name": "scale",
        "about": "",
        "inputs": (Buffer("x", ("N",), "float64"), Buffer("f", (4,), "float64", constant=True), Buffer("z", (1,))),
        "outputs": (Buffer("y", ("N",), "float64"),),
        "reference": lambda x, f, z: x * f[0] + z,
        "tune": ({"N": 1024},),
        "held_out": ({"N": 9},),
        "edge": ({"N": 1},),
        "distributions": STANDARD,
    }
    return Task(**{**fields, **changes})


@contextmanager
def ring(n: int = 1024, slots: int = 4, task: Task | None = None) -> Iterator[Ring]:
    made = Ring(task or make(), {"N": n}, slots, SEED, 1 << 20)
    try:
        yield made
    finally:
        made.close()


def test_both_sides_are_laid_out_alike() -> None:
    """Where a buffer begins decides how fast it is read."""
    with ring() as it:
        assert it.sides[0].regions == it.sides[1].regions
        begins = {region.data % 4096 for region in it.sides[0].regions}
        assert len(begins) > 2


def contents(it: Ring, call: int, buffer: int = 0) -> Array:
    return it.inputs.array(it.calls[call].inputs[buffer]).copy()


def answer(it: Ring, number: int, count: int, side: int) -> None:
    """Compute the right outputs of a set, as an honest arm would."""
    for index in it.set_calls(number, count):
        call = it.calls[index]
        x, f, z = (it.inputs.array(r) for r in call.inputs)
        it.sides[side].array(call.outputs[0])[...] = x * f[0] + z


@pytest.mark.parametrize(
    "distributions", [STANDARD, {"offset": draw_offset, "normal": draw_normal}], ids=["mixed", "drawn"]
)
def test_every_fill_changes_every_element_of_every_slot(distributions: Any) -> None:
    with ring(task=make(distributions=distributions)) as it:
        for _ in range(6):
            for number in range(SETS):
                before = [contents(it, c) for c in it.set_calls(number, 4)]
                it.fill(number, 4, 0)
                after = [contents(it, c) for c in it.set_calls(number, 4)]
                for old, new in zip(before, after, strict=True):
                    assert not (old == new).any()


def test_no_two_slots_of_a_fill_hold_the_same_contents() -> None:
    with ring() as it:
        it.fill(1, 4, 0)
        filled = [contents(it, c) for c in it.set_calls(1, 4)]
        for a in range(4):
            for b in range(a):
                assert np.intersect1d(filled[a], filled[b]).size == 0


def test_float32_contents_repeat_at_most_by_chance() -> None:
    task = make(inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=lambda x: 2 * x)
    with ring(1 << 14, 2, task) as it:
        it.fill(0, 2, 0)
        before = [contents(it, c) for c in it.set_calls(0, 2)]
        it.fill(0, 2, 0)
        after = [contents(it, c) for c in it.set_calls(0, 2)]
        assert sum(int((a == b).sum()) for a, b in zip(before, after, strict=True)) <= 3


def test_only_the_first_slots_of_the_set_are_touched() -> None:
    with ring() as it:
        it.fill(0, 4, 0)
        it.fill(1, 4, 0)
        kept = [contents(it, c) for c in (2, 3, 4, 5)]
        it.fill(0, 2, 0)
        assert all(np.array_equal(contents(it, c), old) for c, old in zip((2, 3, 4, 5), kept, strict=True))


def test_mixtures_stay_standard_normal() -> None:
    with ring(1 << 16, 2) as it:
        for _ in range(5):
            it.fill(0, 2, 0)
            for call in it.set_calls(0, 2):
                x = contents(it, call)
                assert abs(x.mean()) < 0.03
                assert abs(x.std() - 1) < 0.03
                assert abs((x**4).mean() - 3) < 0.25
                assert abs((x**3).mean()) < 0.15
                assert abs((x > 0).mean() - 0.5) < 0.02


def test_constant_inputs_stay_the_same_in_every_slot_and_fill() -> None:
    with ring() as it:
        seen = []
        for _ in range(20):
            it.fill(0, 4, 0)
            seen += [contents(it, c, 1).tolist() for c in it.set_calls(0, 4)]
        assert all(s == seen[0] for s in seen)


def test_small_inputs_change_too() -> None:
    with ring() as it:
        seen = set()
        for _ in range(10):
            it.fill(0, 4, 0)
            seen |= {float(contents(it, c, 2)[0]) for c in it.set_calls(0, 4)}
        assert len(seen) == 8, "one for each entry of the pool"


def test_every_call_of_a_sample_has_another_known_answer_however_often() -> None:
    with ring() as it:
        found = [it.fill(0, 4, 0).entries for _ in range(200)]
        assert all(set(entries) == {0, 1, 2, 3} for entries in found)
        assert all(len(set(entries.values())) == 4 for entries in found)
        assert {e for entries in found for e in entries.values()} == set(range(8))
        assert len({entries[0] for entries in found}) == 8, "in secret order"


def test_no_known_answer_follows_itself_in_the_same_set() -> None:
    """What is loaded for a sample has seen what its set held before: the same inputs would be old to it."""
    with ring() as it:
        for number in (0, 1):
            found = [set(it.fill(number, 4, 0).entries.values()) for _ in range(50)]
            assert all(not a & b for a, b in pairwise(found))


def test_of_very_many_calls_every_one_has_a_known_answer_too() -> None:
    with ring(16, 512) as it:
        for _ in range(3):
            filling = it.fill(0, 512, 0)
            assert set(filling.entries) == set(range(512))
            answer(it, 0, 512, 0)
            assert it.check(0, filling) == (None, 512)


def test_other_memory_for_the_same_buffers_serves_as_well() -> None:
    with ring() as it:
        regions, before = it.inputs.regions, it.inputs
        it.renew()
        assert (it.inputs.regions, len(it.calls)) == (regions, 8)
        assert it.inputs is not before
        filling = it.fill(0, 4, 0)
        answer(it, 0, 4, 0)
        assert it.check(0, filling) == (None, 4)


def test_what_lies_anywhere_in_a_set_is_not_chosen_for_it() -> None:
    """A sample of a few calls leaves the set's other slots as they were, and a later one may map them all."""
    with ring() as it:
        for count in (4, 1, 2, 1, 3, 4, 2) * 10:
            before = [contents(it, c).tobytes() for c in it.set_calls(0, 4)]
            it.fill(0, count, 0)
            filled = [contents(it, c).tobytes() for c in it.set_calls(0, count)]
            assert not set(before) & set(filled)


def test_the_pool_holds_draws_like_those_of_a_verification() -> None:
    task = make(inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=lambda x: 2 * x)
    with ring(1 << 14, 4, task) as it:
        drawn = coarse_share(draw_normal(np.random.default_rng(1), task.inputs[0], {"N": 1 << 14}))
        for _ in range(6):
            it.fill(0, 4, 0)
            assert all(abs(coarse_share(contents(it, slot)) - drawn) < 0.1 for slot in range(4))


def coarse_share(x: Array) -> float:
    """How many of the elements near zero have four trailing zero bits: of a sum of draws, many."""
    near = x[(np.abs(x) < 1 / 32) & (x != 0)]
    return float(((near.view(f"u{near.itemsize}") & np.array(15, f"u{near.itemsize}")) == 0).mean())


def test_right_outputs_pass_and_the_check_is_counted() -> None:
    with ring() as it:
        filling = it.fill(1, 4, 1)
        answer(it, 1, 4, 1)
        assert it.check(1, filling) == (None, 4)


def test_outputs_nobody_wrote_are_found() -> None:
    with ring() as it:
        filling = it.fill(1, 4, 0)
        fault, _ = it.check(1, filling)
        assert fault is not None
        assert fault.cause == "unwritten"


def test_an_unwritten_last_element_is_always_found() -> None:
    with ring() as it:
        filling = it.fill(0, 4, 0)
        keep = it.sides[0].array(it.calls[3].outputs[0])[-1]
        answer(it, 0, 4, 0)
        it.sides[0].array(it.calls[3].outputs[0])[-1] = keep
        fault, _ = it.check(0, filling)
        assert fault is not None
        assert fault.cause == "unwritten"


def test_a_wrong_answer_to_a_known_slot_is_found_and_explained() -> None:
    with ring() as it:
        filling = it.fill(0, 4, 0)
        answer(it, 0, 4, 0)
        it.sides[0].array(it.calls[2].outputs[0])[3] += 1
        fault, checked = it.check(0, filling)
        assert fault is not None
        assert (fault.cause, checked) == ("wrong-output", 4)
        assert "1 of 1024 elements wrong, first at [3]" in fault.reason


def test_known_answers_of_exact_tasks_are_compared_bit_for_bit() -> None:
    task = make(
        inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=lambda x: np.float32(0) * x,
        baselines={}, exact=True,
    )  # fmt: skip
    with ring(task=task) as it:
        filling = it.fill(0, 4, 0)
        for index in it.set_calls(0, 4):
            call = it.calls[index]
            it.sides[0].array(call.outputs[0])[...] = 0 * it.inputs.array(call.inputs[0])
        assert it.check(0, filling) == (None, 4)
        it.sides[0].array(it.calls[1].outputs[0])[...] *= -1
        fault, _ = it.check(0, filling)
        assert fault is not None, "zero and minus zero are not the same bits"


def test_a_write_outside_an_output_is_found() -> None:
    import os

    with ring() as it:
        filling = it.fill(0, 4, 0)
        answer(it, 0, 4, 0)
        region = it.calls[2].outputs[0]
        os.pwrite(it.sides[0].fd, b"\0" * 8, region.data - 8)
        fault, _ = it.check(0, filling)
        assert fault is not None
        assert fault.cause == "out-of-bounds"


def test_the_other_distributions_answers_are_made_once() -> None:
    with ring() as it:
        others = it.others()
        assert others == len(STANDARD) - 1
        for other in range(others):
            filling = it.fill(0, 4, 0, other)
            assert it.others() == others
            answer(it, 0, 4, 0)
            assert it.check(0, filling) == (None, 4)
            assert sorted(filling.entries.values())[-1] == 8 + other, "one slot holds it"
            assert sum(entry >= 8 for entry in filling.entries.values()) == 1


def test_a_ring_without_a_pool_holds_one_draw_everywhere() -> None:
    made = Ring(make(), {"N": 1024}, 4, SEED, 1 << 20, pool=False)
    try:
        first = contents(made, 0)
        assert abs(first).max() > 0
        assert all(np.array_equal(contents(made, n), first) for n in range(SETS * 4))
    finally:
        made.close()


def test_slots_that_nobody_wrote_are_untouched_and_one_element_is_enough() -> None:
    with ring() as it:
        filling = it.fill(1, 4, 0)
        answer(it, 1, 1, 0)
        assert it.untouched(1, filling), "the first slot is the call's own"
        it.sides[1].array(it.calls[6].outputs[0])[...] = 1
        assert it.untouched(1, filling), "the other side is somebody else's"
        it.sides[0].array(it.calls[7].outputs[0])[-1] = 1
        assert not it.untouched(1, filling)


def test_the_two_sides_are_separate_memory_laid_out_alike() -> None:
    with ring() as it:
        assert it.sides[0].regions == it.sides[1].regions
        it.sides[0].array(it.calls[0].outputs[0])[...] = 1
        it.sides[1].array(it.calls[0].outputs[0])[...] = 2
        assert it.sides[0].array(it.calls[0].outputs[0]).max() == 1


def test_two_different_sets_are_picked_and_all_come_up() -> None:
    with ring() as it:
        picked = [it.pick_sets() for _ in range(100)]
        assert all(a != b for a, b in picked)
        assert {v for pair in picked for v in pair} == set(range(SETS))


def test_the_dice_fall_as_often_as_they_are_told_to() -> None:
    with ring() as it:
        assert all(it.toss(1.0) for _ in range(200))
        assert not any(it.toss(0.0) for _ in range(200))
        assert 400 < sum(it.toss(0.25) for _ in range(2000)) < 600


def test_slots_make_a_sample_long_enough_within_memory() -> None:
    task = make()
    assert slots_for(task, {"N": 1024}, 0.004, 0.0005) == 4
    assert slots_for(task, {"N": 1024}, 0.004, 1.0) == 1
    assert slots_for(task, {"N": 16}, 0.004, 1e-9) == 512
    assert slots_for(task, {"N": 1 << 24}, 0.004, 1e-6) == 1
    assert slots_for(task, {"N": 16}, 9.01e-5, 0.0) == 181, "no call takes less than half a microsecond"
    assert slots_for(task, {"N": 16}, 1e-3, 0.5e-5) == 96
    assert slots_for(task, {"N": 1 << 21}, 1.0, 1e-9) == 7, "known answers for two samples in 768 MiB"


@pytest.mark.parametrize(("cache", "flushed"), [(1 << 20, 1 << 20), (64 << 20, 64 << 20), (1 << 30, 64 << 20)])
def test_no_more_than_64_mib_are_read_to_flush_a_cache(
    cache: int, flushed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure_ring, "last_level_cache", lambda: cache)
    assert measure_ring.flush_size() == flushed


def test_the_last_level_cache_has_a_plausible_size() -> None:
    assert 64 << 10 <= last_level_cache() <= 4 << 30


def thirteen_bits(values: Array) -> Array:
    return ((values.view(np.uint32) + np.uint32(0x400)) & np.uint32(0xFFFFF800)).view(np.float32)


def test_a_timed_call_is_held_to_the_means_of_neighbours() -> None:
    task, dims = TASKS["particle_filter"], {"N": 1 << 17}
    with ring(dims["N"], 1, task) as it:
        filling, call = it.fill(0, 1, 0), it.calls[0]
        right = run_trusted(task, [contents(it, 0, k) for k in range(3)], dims)
        for region, value in zip(call.outputs, right, strict=True):
            it.sides[0].write(region, value)
        assert it.check(0, filling) == (None, 1)
        it.sides[0].write(call.outputs[0], thirteen_bits(right[0]))
        fault, _ = it.check(0, filling)
    assert fault is not None
    assert "apart from what a row has in common" in fault.reason


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("", True),
        ("+", True),
        ("##", True),
        ("##+", True),
        ("####", True),
        (".#", False),
        ("+#", False),
        ("#.+", False),
        ("++", False),
    ],
)
def test_a_sample_that_was_stopped_has_written_its_first_calls_one_more_in_part_and_no_other(
    written: str, kept: bool
) -> None:
    with ring() as it:
        filling = it.fill(0, 4, 1)
        for call, share in zip(it.calls, written, strict=False):
            it.sides[1].array(call.outputs[0])[: {"#": 1024, "+": 700, ".": 0}[share]] = 2.0
        assert it.in_order(0, filling) is kept
        assert it.tells_order


def test_order_is_not_told_by_outputs_that_may_equal_their_poison() -> None:
    with ring(task=make(outputs=(Buffer("y", ("N",), "int64"),), exact=True)) as it:
        assert not it.tells_order
