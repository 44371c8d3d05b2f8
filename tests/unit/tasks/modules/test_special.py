"""What a module's inputs hold for certain under "planted", on the host and on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs
from tests.unit.tasks.modules.test_draws import on_both, sums

from kernellab.graph.record import GraphRecord, Ref, Seen, Special
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.modules.special import (
    FAR,
    lead_to_ends,
    plant_flags,
    plant_floats,
    plant_whole,
    raise_last,
)
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Buffer
from kernellab.verdict.numeric import within

DRAWS = 40


def planted(shape: tuple[int, ...], steps: tuple[float, ...] = ()) -> list[Array]:
    found = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        found.append(plant_floats(rng.uniform(-1, 1, shape), rng, steps))
    return found


def test_slices_lie_below_zero_hold_one_value_and_have_their_largest_twice() -> None:
    for values in planted((10, 3, 8)):
        flat = values.reshape(10, -1)
        assert (flat.max(1) <= -FAR).sum() == 1
        assert (flat.min(1) == flat.max(1)).sum() in (1, 2)
        assert ((values == values.max(2, keepdims=True)).sum(2) == 2).all(1).any()
        assert (flat.max(1) == 0).any(), "zeros as the largest"
        assert (np.abs(flat).max(1) < 1.2).sum() >= 5, "half of them are as they were"


def test_either_a_slice_is_zero_or_a_column_is_below_it() -> None:
    found = [((v == 0).all((1, 2)).any(), (v < 0).all((0, 1)).any()) for v in planted((10, 3, 8))]
    assert all(zero != below for zero, below in found)
    assert len(set(found)) == 2


def test_an_input_of_few_slices_is_below_zero_as_a_whole_every_other_time() -> None:
    for shape in ((2, 6), (3, 2, 2), (1, 3, 5), (9,)):
        assert 10 < sum(bool((v <= -FAR).all()) for v in planted(shape)) < 30


def test_numbers_that_are_compared_with_occur() -> None:
    for shape in ((4, 6), (12, 5, 5)):
        assert all((v == 0.3).any() and (v == -7.0).any() for v in planted(shape, (0.3, -7.0)))
    assert 10 < sum(bool((v == 0.3).any()) for v in planted((9,), (0.3,))) < 30


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_single_number_stays_as_it_is(shape: tuple[int, ...]) -> None:
    for seed in range(DRAWS):
        assert plant_floats(np.full(shape, 0.25), np.random.default_rng(seed), (3.0,)) == 0.25


def test_integers_have_both_ends_one_number_twice_and_what_they_are_compared_with() -> None:
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        values = plant_whole(rng.choice(10_000, 16, replace=False) + 5, rng, 0, 50_000, (7.0, -1.0, 0.5)).tolist()
        assert {0, 50_000, 7} <= set(values)
        assert -1 not in values
        assert len(set(values)) < 16


def test_two_integers_are_both_ends_and_one_is_left_alone() -> None:
    for seed in range(DRAWS):
        assert sorted(plant_whole(np.full(2, 3), np.random.default_rng(seed), 0, 9, (4.0,))) == [0, 9]
        assert plant_whole(np.full(1, 3), np.random.default_rng(seed), 0, 9) == 3


def test_a_row_of_booleans_is_set_and_one_is_not() -> None:
    for seed in range(DRAWS):
        mixed = np.tile(np.array([0, 1, 0], np.uint8), (6, 1))
        rows = plant_flags(mixed, np.random.default_rng(seed)).sum(1)
        assert sorted(rows) == [0, 1, 1, 1, 1, 3]


def compared(nodes: list[Any]) -> GraphRecord:
    return graphs.graph([graphs.given("x", graphs.tensor("d0", 8))], nodes, {"d0": 64})


def flags(op: str, *arguments: Any) -> Any:
    return graphs.node("y", op, list(arguments), graphs.tensor("d0", 8, dtype="bool"))


def test_the_graph_says_where_its_decisions_change() -> None:
    x, made = Ref(ref="x"), graphs.tensor("d0", 8)
    limit = graphs.node("limit", "aten.scalar_tensor.default", [2.5], graphs.tensor())
    for nodes, steps in (
        ([flags("aten.lt.Scalar", x, 0.75)], (0.75,)),
        ([limit, flags("aten.ge.Tensor", x, Ref(ref="limit"))], (2.5, 3.75)),
        ([limit, flags("aten.ge.Tensor", Ref(ref="limit"), x)], (2.5, 3.75)),
        ([graphs.node("y", "aten.clamp.default", [x, -1e4, 0.5], made)], (-1e4, 0.5, -1.5e4)),
        ([graphs.node("y", "aten.clamp_max.default", [x, 1e38], made)], (1e38, 1.5e38)),
        ([graphs.node("y", "aten.clamp_max.default", [x, 3e38], made)], (3e38,)),
        ([graphs.node("y", "aten.hardshrink.default", [x, 0.25], made)], (0.25, -0.25)),
        ([graphs.node("y", "aten.exp.default", [x], made)], ()),
    ):
        assert Uses(compared(nodes)).steps("x") == steps
    assert {0.5, 1.5, 2.5} <= set(Uses(compared([graphs.node("y", "aten.round.default", [x], made)])).steps("x"))


def test_what_lies_beyond_a_bound_fits_the_input_s_type() -> None:
    made = graphs.tensor("d0", 8, dtype="float16")
    for bound, steps in ((4e4, (4e4, 6e4)), (6e4, (6e4,)), (1e5, ())):
        nodes = [graphs.node("y", "aten.clamp_max.default", [Ref(ref="x"), bound], made)]
        assert Uses(graphs.graph([graphs.given("x", made)], nodes, {"d0": 64})).steps("x") == steps


def test_a_kernel_that_leaves_out_a_bound_far_away_is_wrong() -> None:
    """Found by a red team: nothing that was drawn ever came near 10,000."""
    pytest.importorskip("torch")
    made = graphs.tensor("d0", 8)
    bounded = graphs.node("y", "aten.clamp.default", [Ref(ref="x"), -1e4, 1e4], made)
    task = module_task(graphs.module_record(graphs.graph([graphs.given("x", made)], [bounded], {"d0": 64})))
    (x,) = draw_inputs(task, {"d0": 64}, "planted", np.random.default_rng(3))
    (expected,) = expect(task, {"d0": 64}, [x])
    assert within(np.clip(x, -1e4, 1e4), expected)
    assert not within(np.maximum(x, -1e4), expected)
    assert not within(np.minimum(x, 1e4), expected)


def test_the_largest_stand_at_the_ends_of_rows_and_of_the_whole() -> None:
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        before = rng.standard_normal((9, 5, 1))
        values = lead_to_ends(before.copy(), rng)
        size = np.abs(values[..., 0])
        assert np.array_equal(np.sort(values, None), np.sort(before, None))
        assert size[-1, -1] == size.max()
        assert size[0, 0] == np.sort(size, None)[-2]
        assert (size[:, -1] == size.max(1)).sum() >= 5
    for shape in ((), (1, 1)):
        assert lead_to_ends(np.full(shape, 0.25), np.random.default_rng(0)) == 0.25


def test_the_last_is_a_share_of_all_and_no_two_have_the_same() -> None:
    found = {float(raise_last(np.full((100, 100), -1.0), np.random.default_rng(seed))[-1, -1]) for seed in range(DRAWS)}
    assert len(found) == DRAWS
    assert all(-1e4 / 16 <= last <= -1e4 / 512 for last in found)
    assert raise_last(np.full(1 << 22, 1.0), np.random.default_rng(0))[-1] <= 3e4
    assert raise_last(np.array([1.0, 7.0]), np.random.default_rng(0)).tolist() == [1.0, 7.0]


def test_a_long_sum_that_loses_its_tail_is_wrong() -> None:
    """Found by a red team: 32 of half a million terms are less than rounding may cost their sum, under all that was drawn."""
    pytest.importorskip("torch")
    task, dims = module_task(graphs.module_record(graphs.total())), {"d0": 128, "d1": 4096}
    for seed in range(3):
        (x,) = draw_inputs(task, dims, "heavy", np.random.default_rng(seed))
        (expected,) = expect(task, dims, [x])
        wide = x.astype(np.float64).reshape(-1)
        right, short, late = (np.array([t.sum() / wide.size], np.float32) for t in (wide, wide[:-1], wide[1:]))
        assert within(right, expected)
        assert not within(short, expected)
        assert not within(late, expected)


def test_a_long_sum_of_numbers_above_zero_loses_no_tail_either() -> None:
    pytest.importorskip("torch")
    nodes = [
        graphs.node("root", "aten.sqrt.default", [Ref(ref="x")], graphs.tensor("d0", "d1")),
        graphs.node("mean", "aten.mean.default", [Ref(ref="root")], graphs.tensor()),
    ]
    seen = Seen(low=0.0, high=1e-3, mean=5e-4, zeros=0.0)
    record = graphs.graph([graphs.given("x", graphs.tensor("d0", "d1"), seen=seen)], nodes, {"d0": 40, "d1": 24})
    task, dims = module_task(graphs.module_record(record)), {"d0": 64, "d1": 2048}
    (x,) = draw_inputs(task, dims, "uneven", np.random.default_rng(0))
    (expected,) = expect(task, dims, [x])
    roots = np.sqrt(x.astype(np.float64)).reshape(-1)
    assert within(np.array([roots.mean()], np.float32), expected)
    assert not within(np.array([roots[:-1].sum() / roots.size], np.float32), expected)


def test_host_and_device_lead_the_largest_to_the_ends() -> None:
    record = sums(graphs.given("z", graphs.tensor("d0", "d1")))
    for kind in ("heavy", "wide"):
        for values in on_both(record, kind, 1, Buffer("z", ("d0", "d1")), d0=64, d1=48):
            assert abs(values[-1, -1]) == np.abs(values).max()


def test_host_and_device_plant_the_same_kinds() -> None:
    record = sums(graphs.given("z", graphs.tensor("d0", "d1")))
    for values in on_both(record, "planted", 1, Buffer("z", ("d0", "d1")), d0=64, d1=48):
        assert (values.max(1) <= -FAR).sum() == 1
        assert 0.05 < np.mean(values == 0) < 0.2
    mask = graphs.given("mask", graphs.tensor("d0", "d1", dtype="bool"), seen=None)
    for kind, whole in (("planted", 2), ("planted-mixed", 0)):
        for values in on_both(sums(mask), kind, 1, Buffer("mask", ("d0", "d1"), "uint8"), d0=64, d1=48):
            assert (values.min(1) == values.max(1)).sum() == whole
    index = graphs.given("i", graphs.tensor("d1", dtype="int64"), seen=Seen(low=0, high=999, mean=500, zeros=0))
    rows = graphs.node("y", "aten.embedding.default", [Ref(ref="table"), Ref(ref="i")], graphs.tensor("d1", 8))
    looked = graphs.graph([graphs.given("table", graphs.tensor(50_000, 8)), index], [rows], {"d1": 64})
    for values in on_both(looked, "planted", 1, Buffer("i", ("d1",), "int64"), d1=64):
        assert {0, 49_999} <= set(values.tolist())


def test_a_mask_that_may_not_hide_a_whole_row_is_mixed_in_each() -> None:
    pytest.importorskip("torch")
    made = graphs.tensor("d0", 24)
    nodes = [
        graphs.node("kept", "aten.masked_fill.Scalar", [Ref(ref="x"), Ref(ref="mask"), Special(float="-inf")], made),
        graphs.node("y", "aten._softmax.default", [Ref(ref="kept"), 1, False], made),
    ]
    mask = graphs.given("mask", graphs.tensor("d0", 24, dtype="bool"), seen=None)
    record = graphs.graph([graphs.given("x", made), mask], nodes, {"d0": 40})
    assert graphs.module_record(record).distributions[2] == "planted-mixed"
