"""Inputs like the example's own: in its range, below what they index, with the weights left alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs

from kernellab.graph.record import GraphRecord, Ref, Seen
from kernellab.tasks.modules.draws import KINDS, draws
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.spec import Array, Buffer


def lookup() -> GraphRecord:
    """Rows of a table with d0 of them."""
    rows = graphs.node("y", "aten.embedding.default", [Ref(ref="table"), Ref(ref="i")], graphs.tensor("d1", 8))
    seen = Seen(low=0, high=999, mean=500, zeros=0)
    inputs = [
        graphs.given("table", graphs.tensor("d0", 8)),
        graphs.given("i", graphs.tensor("d1", dtype="int64"), seen=seen),
    ]
    return graphs.graph(inputs, [rows], {"d0": 1000, "d1": 64})


def drawn(record: GraphRecord, kind: str, buffer: Buffer, **dims: int) -> Array:
    return draws(record)[kind](np.random.default_rng(0), buffer, dims)


def test_an_index_stays_below_what_it_indexes_at_every_shape() -> None:
    assert Uses(lookup()).below("i", {"d0": 5, "d1": 64}) == 5
    values = drawn(lookup(), "own", Buffer("i", ("d1",), "int64"), d0=5, d1=64)
    assert set(values.tolist()) == {0, 1, 2, 3, 4}
    wide = drawn(lookup(), "own", Buffer("i", ("d1",), "int64"), d0=5000, d1=4096)
    assert 990 < wide.max() <= 999


def test_weights_are_drawn_alike_under_every_distribution() -> None:
    weight = Buffer("w", (32, 16))
    first = drawn(graphs.linear(), "own", weight, d0=4)
    for kind in KINDS:
        assert np.array_equal(drawn(graphs.linear(), kind, weight, d0=4), first)


def test_positive_examples_stay_positive_under_their_own_distribution() -> None:
    record = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 4), seen=Seen(low=0.0, high=1.0, mean=0.5, zeros=0.0))],
        [graphs.node("y", "aten.log.default", [Ref(ref="x")], graphs.tensor("d0", 4))],
        {"d0": 8},
    )
    values = drawn(record, "own", Buffer("x", ("d0", 4)), d0=500)
    assert 0 <= values.min() < values.max() <= 1
    assert graphs.module_record(record).distributions == ("own", "offset")


def test_few_elements_of_a_long_sum_are_not_zero_where_inputs_are_sparse() -> None:
    values = drawn(graphs.linear(terms=512), "sparse", Buffer("x", ("d0", 512)), d0=256)
    assert 2 < np.count_nonzero(values) / 256 < 6


def test_ones_are_drawn_around_one() -> None:
    seen = Seen(low=1.0, high=1.0, mean=1.0, zeros=0.0)
    record = graphs.graph(
        [graphs.given("x", graphs.tensor("d0", 4), seen=seen)],
        [graphs.node("y", "aten.exp.default", [Ref(ref="x")], graphs.tensor("d0", 4))],
        {"d0": 8},
    )
    values = drawn(record, "own", Buffer("x", ("d0", 4)), d0=500)
    assert 0.5 <= values.min() < 0.6 < 1.4 < values.max() <= 1.5


def test_distributions_that_overflow_in_the_modules_own_type_are_left_out() -> None:
    product = graphs.node("y", "aten.cumprod.default", [Ref(ref="x"), 1], graphs.tensor("d0", "d1"))
    record = graphs.graph([graphs.given("x", graphs.tensor("d0", "d1"))], [product], {"d0": 8, "d1": 256})
    assert "offset" not in graphs.module_record(record).distributions


@pytest.mark.parametrize(
    ("op", "arguments", "limit"),
    [
        ("aten.clamp.default", [0], 5),
        ("aten.slice.Tensor", [0, 0, (1 << 63) - 1], 5),
        ("aten.slice.Tensor", [0, 1, (1 << 63) - 1], 1 << 31),
    ],
)
def test_indices_are_bounded_through_what_lets_them_all_through(op: str, arguments: list[int], limit: int) -> None:
    nodes = [
        graphs.node("j", op, [Ref(ref="i"), *arguments], graphs.tensor("d0", dtype="int64")),
        graphs.node("y", "aten.gather.default", [Ref(ref="x"), 0, Ref(ref="j")], graphs.tensor("d0")),
    ]
    inputs = [graphs.given("x", graphs.tensor(5)), graphs.given("i", graphs.tensor("d0", dtype="int64"), seen=None)]
    assert Uses(graphs.graph(inputs, nodes, {"d0": 64})).below("i", {"d0": 64}) == limit
