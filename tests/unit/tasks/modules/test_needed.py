"""What any kernel must read, counted from the outputs back: never more than that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.tasks.modules import graphs

from kernellab.graph.record import Expression, GraphRecord, Node, Ref
from kernellab.tasks.modules.uses import Uses

ROWS, SIZES = 6, {"d0": 6, "d1": 10}
HALF, REST = Expression(expr="d1 // 2"), Expression(expr="d1 - d1 // 2")
X = graphs.tensor("d0", "d1")


def _slice(name: str, of: str, extent: int | str, *bounds: Any) -> Node:
    return graphs.node(name, "aten.slice.Tensor", [Ref(ref=of), 1, *bounds], graphs.tensor("d0", extent))


def _split(*lengths: Any) -> Node:
    parts = [graphs.tensor("d0", n.expr if isinstance(n, Expression) else n) for n in lengths]
    return graphs.node("parts", "aten.split_with_sizes.default", [Ref(ref="x"), list(lengths), -1], *parts)


def _cat(*refs: Ref) -> Node:
    return graphs.node("y", "aten.cat.default", [list(refs), 1], X)


def _read(nodes: list[Node], *outputs: tuple[str, int], sizes: dict[str, int] | None = None) -> int:
    record: GraphRecord = graphs.graph([graphs.given("x", X)], nodes, SIZES, *outputs)
    return Uses(record).least_read("x", sizes or SIZES)


def test_two_halves_that_swap_places_are_read_whole() -> None:
    """As rotary embeddings have them, whatever the parity of the length."""
    first, second = _slice("a", "x", "d1 // 2", None, HALF), _slice("b", "x", "d1 - d1 // 2", HALF)
    turned = [first, second, _cat(Ref(ref="b"), Ref(ref="a"))]
    assert _read(turned) == ROWS * 10
    assert _read(turned, sizes={"d0": 3, "d1": 7}) == 3 * 7


def test_one_half_is_at_most_that_half() -> None:
    half = [_slice("a", "x", "d1 // 2", None, HALF)]
    assert _read(half) == ROWS * 5
    assert _read([*half, _slice("b", "a", 2, 1, 3)], ("b", 0)) == ROWS * 2


def test_what_overlaps_counts_once() -> None:
    nodes = [_slice("a", "x", 6, 0, 6), _slice("b", "x", 4, 3, 7)]
    assert _read(nodes, ("a", 0), ("b", 0)) == ROWS * 7
    assert _read([_slice("a", "x", 3, -4, -1)]) == ROWS * 3
    assert _read([_slice("a", "x", 5, 0, 9223372036854775807, 2)]) == ROWS * 5


def test_parts_of_a_split_count_where_something_is_made_of_them() -> None:
    split = _split(HALF, REST)
    gated = graphs.node(
        "y", "aten.mul.Tensor", [Ref(ref="parts"), Ref(ref="parts", part=1)], graphs.tensor("d0", "d1 // 2")
    )
    assert _read([split, gated]) == ROWS * 10
    assert _read([split], ("parts", 1)) == ROWS * 5
    assert _read([graphs.node("parts", "aten.split.Tensor", [Ref(ref="x"), 4, 1], *(graphs.tensor("d0", n) for n in (4, 4, 2)))], ("parts", 2)) == ROWS * 2  # fmt: skip


def test_copies_and_views_before_a_part_pass_it_on() -> None:
    wide = graphs.node("wide", "aten._to_copy.default", [Ref(ref="x")], X)
    assert _read([wide, _slice("a", "wide", "d1 // 2", None, HALF)], ("a", 0)) == ROWS * 5
    rows = graphs.node("rows", "aten.view.default", [Ref(ref="x"), [3, 2, 10]], graphs.tensor(3, 2, "d1"))
    first = graphs.node("first", "aten.select.int", [Ref(ref="rows"), 0, -1], graphs.tensor(2, "d1"))
    assert _read([rows, first], ("first", 0)) == 2 * 10


def test_what_is_read_whole_counts_beside_what_is_picked_from_it() -> None:
    """As a loss looks up its target among logits that it sums over."""
    top = graphs.node("top", "aten.amax.default", [Ref(ref="x"), [1], True], graphs.tensor("d0", 1))
    picked = graphs.node("picked", "aten.select.int", [Ref(ref="x"), 1, 0], graphs.tensor("d0"))
    assert _read([top, picked], ("top", 0), ("picked", 0)) == ROWS * 10


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("aten.full_like.default", [0.0]), ("aten.tril.default", []), ("aten.sort.default", []),
        ("aten.index.Tensor", [[Ref(ref="x")]]),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_is_nothing(op: str, args: list[Any]) -> None:
    assert _read([graphs.node("y", op, [Ref(ref="x"), *args], X)]) == 0


def test_what_nobody_needs_is_nothing() -> None:
    made = graphs.node("made", "aten.exp.default", [Ref(ref="x")], X)
    assert _read([made, _slice("a", "made", 2, 0, 2), _slice("b", "x", 3, 0, 3)], ("b", 0)) == ROWS * 3
    assert _read([made, _slice("a", "made", 2, 0, 2)], ("a", 0)) == 0


def test_padding_reads_all_unless_it_crops() -> None:
    def padded(low: int, length: int) -> Node:
        return graphs.node("y", "aten.constant_pad_nd.default", [Ref(ref="x"), [low, 1]], graphs.tensor("d0", length))

    assert _read([padded(2, 13)]) == ROWS * 10
    assert _read([padded(-2, 9)]) == 0


@pytest.mark.parametrize(("length", "read"), [(10, 10), (7, 7), (3, 3)])
def test_a_convolution_reads_what_lies_below_the_piece_that_is_kept(length: int, read: int) -> None:
    """A causal one is padded at both ends, and what comes of the end is cut off."""
    x, made = graphs.tensor("d0", 4, "d1"), graphs.tensor("d0", 4, "d1 + 3")
    weight = graphs.given("w", graphs.tensor(4, 1, 4), "weight")
    args = [Ref(ref="x"), Ref(ref="w"), None, [1], [3], [1], False, [0], 4]
    nodes = [
        graphs.node("made", "aten.convolution.default", args, made),
        graphs.node("y", "aten.slice.Tensor", [Ref(ref="made"), 2, 0, length], graphs.tensor("d0", 4, length)),
    ]
    record = graphs.graph([weight, graphs.given("x", x)], nodes, SIZES)
    assert Uses(record).least_read("x", SIZES) == ROWS * 4 * read


def test_what_is_added_by_an_index_is_read_whole() -> None:
    """A histogram of what is computed of the input."""
    place = graphs.node("place", "aten._to_copy.default", [Ref(ref="scaled")], graphs.tensor("d0", "d1", dtype="int64"))
    nodes = [
        graphs.node("scaled", "aten.mul.Tensor", [Ref(ref="x"), 4.0], X), place,
        graphs.node("none", "aten.zeros.default", [[6, 10]], X),
        graphs.node("y", "aten.scatter_add.default", [Ref(ref="none"), 1, Ref(ref="place"), Ref(ref="none")], X),
    ]  # fmt: skip
    assert _read(nodes) == ROWS * 10
