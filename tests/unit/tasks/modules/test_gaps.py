"""What a mask leaves out need not be read, so no kernel is told that it read too little; and lengths are drawn as long as
there are places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs

from kernellab.graph.record import GraphInput, Node, Ref, Seen, Special
from kernellab.tasks.modules.draws import draws
from kernellab.tasks.modules.uses import Uses
from kernellab.tasks.spec import Buffer

SIZES = {"b": 3, "t": 20, "k": 8}
CACHE, QUERY, SCORES = graphs.tensor("b", "t", "k"), graphs.tensor("b", 1, "k"), graphs.tensor("b", 1, "t")
LENGTHS = graphs.given("lengths", graphs.tensor("b", dtype="int64"), seen=Seen(low=4, high=6, mean=5, zeros=0))
HIDDEN: list[Any] = [0.0, Special(float="-inf")]


def _attention(mask: list[Node], *more: GraphInput) -> Uses:
    """One query a sequence over a cache; "mask" is added to its scores."""
    nodes = [
        *mask,
        graphs.node("turned", "aten.permute.default", [Ref(ref="keys"), [0, 2, 1]], graphs.tensor("b", "k", "t")),
        graphs.node("scores", "aten.bmm.default", [Ref(ref="q"), Ref(ref="turned")], SCORES),
        graphs.node("masked", "aten.add.Tensor", [Ref(ref="scores"), Ref(ref="mask")], SCORES),
        graphs.node("weights", "aten._softmax.default", [Ref(ref="masked"), -1, False], SCORES),
        graphs.node("y", "aten.bmm.default", [Ref(ref="weights"), Ref(ref="values")], QUERY),
    ]
    inputs = [graphs.given("q", QUERY), graphs.given("keys", CACHE), graphs.given("values", CACHE), *more]
    return Uses(graphs.graph(inputs, nodes, SIZES))


def _chosen(condition: str, shape: Any) -> list[Node]:
    numbers = [
        graphs.node(name, "aten.scalar_tensor.default", [value], graphs.tensor())
        for name, value in zip(("zero", "minus"), HIDDEN, strict=True)
    ]
    return [*numbers, graphs.node("mask", "aten.where.self", [Ref(ref=n) for n in (condition, "zero", "minus")], shape)]


def _by_length() -> list[Node]:
    places = graphs.node("places", "aten.arange.start_step", [0, "t"], graphs.tensor("t", dtype="int64"))
    each = graphs.node("each", "aten.unsqueeze.default", [Ref(ref="lengths"), 1], graphs.tensor("b", 1, dtype="int64"))
    seen = graphs.node(
        "seen", "aten.lt.Tensor", [Ref(ref="places"), Ref(ref="each")], graphs.tensor("b", "t", dtype="bool")
    )
    wide = graphs.node("wide", "aten.unsqueeze.default", [Ref(ref="seen"), 1], graphs.tensor("b", 1, "t", dtype="bool"))
    return [places, each, seen, wide, *_chosen("wide", SCORES)]


def test_of_a_cache_that_is_filled_in_part_nothing_is_counted() -> None:
    uses = _attention(_by_length(), LENGTHS)
    assert uses.least_read("keys", SIZES) == 0
    assert uses.least_read("values", SIZES) == 0
    assert uses.least_read("lengths", SIZES) == 3


def test_without_a_mask_all_of_it_is() -> None:
    given = graphs.given("mask", SCORES)
    assert _attention([], given).least_read("keys", SIZES) == 3 * 20 * 8
    assert _attention([], given).least_read("values", SIZES) == 3 * 20 * 8


@pytest.mark.parametrize("hides", [True, False])
def test_a_mask_that_is_given_for_whole_rows_of_a_product(hides: bool) -> None:
    """Whether it is a boolean, or minus infinity that is added; and many queries with a mask of their own read all."""
    many = graphs.tensor("b", "q", "t")
    mask = graphs.given("mask", SCORES if hides else many, seen=Seen(low=0, high=0, mean=0, zeros=1, hidden=0.5))
    nodes = [
        graphs.node("turned", "aten.permute.default", [Ref(ref="keys"), [0, 2, 1]], graphs.tensor("b", "k", "t")),
        graphs.node("scores", "aten.bmm.default", [Ref(ref="q"), Ref(ref="turned")], many),
        graphs.node("y", "aten.add.Tensor", [Ref(ref="scores"), Ref(ref="mask")], many),
    ]
    inputs = [graphs.given("q", graphs.tensor("b", "q", "k")), graphs.given("keys", CACHE), mask]
    uses = Uses(graphs.graph(inputs, nodes, {**SIZES, "q": 5}))
    assert uses.least_read("keys", {**SIZES, "q": 5}) == (0 if hides else 3 * 20 * 8)


@pytest.mark.parametrize(("shape", "read"), [(("b", "t"), 60), (("b", 1), 0), (("t",), 60)])
def test_lines_are_read_whole_where_a_mask_has_an_element_for_each(shape: tuple[Any, ...], read: int) -> None:
    flat = graphs.tensor("b", "t")
    mask = graphs.given("mask", graphs.tensor(*shape, dtype="bool"), seen=None)
    numbers = [graphs.node("zero", "aten.scalar_tensor.default", [0.0], graphs.tensor())]
    kept = graphs.node("y", "aten.where.self", [Ref(ref="mask"), Ref(ref="x"), Ref(ref="zero")], flat)
    uses = Uses(graphs.graph([graphs.given("x", flat), mask], [*numbers, kept], SIZES))
    assert uses.least_read("x", SIZES) == read


def test_records_of_before_count_as_they_did() -> None:
    uses = _attention(_by_length(), LENGTHS)
    assert Uses(uses._graph, masked=False).least_read("keys", SIZES) == 3 * 20 * 8


def test_lengths_are_any_that_there_are_places_for() -> None:
    """The example had 4 to 6 of 20; at the sizes of a device it would be as few of thousands."""
    uses = _attention(_by_length(), LENGTHS)
    assert uses.counted("lengths", SIZES) == 20
    assert uses.counted("lengths", {**SIZES, "t": 7}) == 7
    found = draws(uses._graph)["own"]
    buffer = Buffer("lengths", ("b",), "int64")
    rng = np.random.default_rng(1)
    values = np.concatenate([found(rng, buffer, {**SIZES, "t": 50}) for _ in range(200)])
    assert (values.min(), values.max()) == (1, 50)
    assert abs(float(values.mean()) - 25.5) < 3
