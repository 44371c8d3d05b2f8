"""What operators ask of their inputs: order, different places, sizes that go together."""

from __future__ import annotations

import pytest
from tests.unit.tasks.modules.graphs import given, graph, node, tensor

from kernellab.graph.asked import Bags, Places, Writes, bags, in_order, with_conditions
from kernellab.graph.record import GraphRecord, Node, Ref, allowed

_X, _I, _V = Ref(ref="x"), Ref(ref="i"), Ref(ref="v")


def written(op: str, args: list[object], index: list[int | str], values: list[int | str]) -> GraphRecord:
    """Values at places of x, which has 64 rows of 32."""
    whole = tensor("d0", 32)
    inputs = [given("x", whole), given("i", tensor(*index, dtype="int64")), given("v", tensor(*values))]
    return graph(inputs, [node("y", op, args, whole)], {"d0": 64, "d1": 16})


def apart(record: GraphRecord) -> list[Places]:
    """What the last node asks for."""
    return Writes(record.nodes, record.types).apart(record.nodes[-1])


def put(*values: int | str, accumulate: bool = False) -> GraphRecord:
    return written("aten.index_put.default", [_X, [_I], _V, accumulate], ["d1"], list(values))


@pytest.mark.parametrize(
    ("op", "args", "wanted"),
    [
        ("aten.searchsorted.Tensor", [_X, _V], _X),
        ("aten.bucketize.Tensor", [_X, _V], _V),
        ("aten.bucketize.Scalar", [1.0, _V], _V),
        ("aten.sort.default", [_X], None),
    ],
)
def test_the_rows_that_are_searched_must_ascend(op: str, args: list[object], wanted: Ref | None) -> None:
    assert in_order(Node(name="y", op=op, args=args, results=(tensor(4),))) == wanted  # type: ignore[arg-type]


def test_rows_with_a_sorter_beside_them_may_be_in_any_order() -> None:
    found = Node(name="y", op="aten.searchsorted.Tensor", args=[_X, _V], kwargs={"sorter": _I}, results=(tensor(4),))
    assert in_order(found) is None


def test_places_that_are_written_to_must_differ_and_there_must_be_enough() -> None:
    record = put("d1", 32)
    [places] = apart(record)
    assert (places.ref, places.axis, places.below) == (_I, None, "d0")
    assert with_conditions(record).requires == ("d1 <= d0",)
    assert allowed(with_conditions(record), {"d0": 5, "d1": 5})
    assert not allowed(with_conditions(record), {"d0": 5, "d1": 6})


def test_along_a_dim_they_differ_within_their_own_line() -> None:
    whole = tensor("d0", 32)
    record = written("aten.scatter.src", [_X, 1, _I, _V], ["d0", 8], ["d0", 32])
    [places] = apart(record)
    assert (places.axis, places.below, places.room) == (1, 32, "8 <= 32")
    assert with_conditions(record).requires == ()
    assert whole.extents[1] == places.below


@pytest.mark.parametrize(
    "record",
    [
        put("d1", 32, accumulate=True),
        put(1, 1),
        written("aten.scatter.value", [_X, 1, _I, 2.0], ["d0", 8], [1]),
        written("aten.scatter_add.default", [_X, 1, _I, _V], ["d0", 8], ["d0", 32]),
        written("aten.index_add.default", [_X, 0, _I, _V], ["d1"], ["d1", 32]),
    ],
    ids=["adds", "one number", "a scalar", "scatter_add", "index_add"],
)
def test_where_no_order_shows_places_may_repeat(record: GraphRecord) -> None:
    assert not apart(record)
    assert with_conditions(record) == record


def told(op: str, args: list[object]) -> GraphRecord:
    """x read at places, changed element by element, and written there again; a source of its own beside it."""
    whole, some = tensor("d0", 32), tensor("d0", 8)
    inputs = [given("x", whole), given("i", tensor("d0", 8, dtype="int64")), given("v", some)]
    nodes = [
        node("read", "aten.gather.default", [_X, 1, _I], some),
        node("low", "aten.lt.Scalar", [Ref(ref="read"), 0], tensor("d0", 8, dtype="bool")),
        node("less", "aten.div.Tensor", [Ref(ref="read"), 1.5], some),
        node("kept", "aten.where.self", [Ref(ref="low"), Ref(ref="read"), Ref(ref="less")], some),
        node("mixed", "aten.mul.Tensor", [Ref(ref="kept"), _V], some),
        node("ones", "aten.full_like.default", [_I, 1], some),
        node("y", op, args, whole),
    ]
    return graph(inputs, nodes, {"d0": 16})


@pytest.mark.parametrize("source", ["read", "kept", "ones"])
def test_equal_places_that_get_equal_elements_may_repeat(source: str) -> None:
    """A penalty for words that were said, and one that is set for each of several labels: repeats are what they are for, and
    a kernel that took them twice passed once, since none were drawn."""
    for dim in (1, -1):
        assert apart(told("aten.scatter.src", [_X, dim, _I, Ref(ref=source)])) == []


@pytest.mark.parametrize("args", [[_X, 1, _I, _V], [_X, 1, _I, Ref(ref="mixed")], [_X, 0, _I, Ref(ref="read")]])
def test_other_elements_go_to_places_of_their_own(args: list[object]) -> None:
    [places] = apart(told("aten.scatter.src", args))
    assert places.axis == args[1]


def several(*indices: tuple[int | str, ...]) -> GraphRecord:
    """x[rows, i] = v: `rows` counts the rows, or is an input."""
    whole, rows, columns = tensor("d0", "d1", 8), tensor("d2", dtype="int64"), tensor(*indices[1], dtype="int64")
    made = [
        node("all", "aten.arange.default", [16], tensor(16, dtype="int64")),
        node("counted", "aten.view.default", [Ref(ref="all"), []], tensor(*indices[0], dtype="int64")),
        node("given", "aten.view.default", [Ref(ref="r"), []], tensor(*indices[0], dtype="int64")),
    ]
    chosen = Ref(ref="counted" if 16 in indices[0] else "given")
    inputs = [given("x", whole), given("r", rows), given("i", columns), given("v", tensor("d2", "d3", 8))]
    put = node("y", "aten.index_put.default", [_X, [chosen, _I], _V], whole)
    return graph(inputs, [*made, put], {"d0": 16, "d1": 64, "d2": 16, "d3": 4})


def test_of_several_indices_each_differs_as_far_as_the_others_leave_it_open() -> None:
    """One place for each sequence of a batch, or some: seen, a cache written so was refused."""
    assert apart(several((16,), ("d2",))) == []
    [places] = apart(several((16, 1), ("d2", "d3")))
    assert (places.ref, places.axis, places.room) == (_I, 1, "d3 <= d1")
    rows, columns = apart(several(("d2", 1), ("d2", "d3")))
    assert (rows.axis, rows.below, columns.axis, columns.below) == (0, "d0", 1, "d1")


def test_several_indices_and_what_is_put_there_go_together() -> None:
    found = with_conditions(several(("d2", 1), ("d2", "d3"))).requires
    assert found == ("d2 <= d0", "d3 <= d1")
    other = several(("d2", 1), ("d0", "d3"))
    assert "d2 == d0" in with_conditions(other).requires


def test_what_is_put_has_the_size_of_its_places() -> None:
    """Torch's export leaves that out: y[index] = x was refused, since it did not run where the two differ."""
    whole = tensor("d0", 32)
    inputs = [given("x", whole), given("i", tensor("d1", dtype="int64"))]
    nodes = [
        node("zeros", "aten.full_like.default", [_X, 0], whole),
        node("y", "aten.index_put.default", [Ref(ref="zeros"), [_I], _X], whole),
    ]
    record = graph(inputs, nodes, {"d0": 16, "d1": 16})
    assert with_conditions(record).requires == ("d1 <= d0", "d0 == d1")


def test_what_the_example_itself_does_not_keep_is_not_asked() -> None:
    record = written("aten.index_copy.default", [_X, 0, _I, _V], ["d1"], ["d1", 32])
    small = record.model_copy(
        update={"symbols": tuple(s.model_copy(update={"example": 2 if s.name == "d0" else 9}) for s in record.symbols)}
    )
    assert with_conditions(small).requires == ()
    assert with_conditions(record).requires == ("d1 <= d0",)


def test_a_slice_that_is_written_to_has_the_size_of_what_is_written() -> None:
    """Seen: a cache of keys and values was refused, since one longer than the cache was drawn."""
    whole, part = tensor("d0", "d1", 8), tensor("d2", "d3", 8)
    inputs = [given("x", whole), given("v", part)]
    put_slice = node("y", "aten.slice_scatter.default", [_X, _V, 1, 3, 7], whole)
    record = graph(inputs, [put_slice], {"d0": 2, "d1": 64, "d2": 2, "d3": 4})
    assert with_conditions(record).requires == ("d2 == d0", "d3 + 3 <= d1")


@pytest.mark.parametrize(("more", "ends"), [([], False), ([False, 0, False, None, True], True)])
def test_bags_begin_among_the_elements_that_are_summed(more: list[object], ends: bool) -> None:
    call = node("y", "aten._embedding_bag.default", [_X, _I, _V, *more], tensor("d1", 4))
    types = {("x", 0): tensor(50, 4), ("i", 0): tensor("d0", dtype="int64"), ("v", 0): tensor("d1", dtype="int64")}
    assert bags(call, types) == Bags(_V, "d0", ends)
    assert bags(node("y", "aten.embedding.default", [_X, _I], tensor("d1", 4)), types) is None
