"""Which kernels are rows, which reductions can be split, which axes become one."""

from __future__ import annotations

from kernellab.lower.axes import Axis, Index, linear
from kernellab.lower.inline import Store, reductions_of
from kernellab.lower.merge import flat
from kernellab.lower.rows import rows_of
from kernellab.lower.sizes import Size
from kernellab.lower.split import can_split, split
from kernellab.lower.values import Reduce, apply, load, number, reduce, walk

M, N = Size.of("m"), Size.of("n")
ROW, COLUMN, R, S = Axis("i", M), Axis("j", N), Axis("r", N), Axis("s", N)
SHAPES = {"x": (M, N), "y": (M, N), "z": (M,)}


def x(row: Axis, column: Axis):  # type: ignore[no-untyped-def]
    return load("x", (Index.of(row), Index.of(column)), "float")


def store(tensor: str, value, *axes: Axis) -> Store:  # type: ignore[no-untyped-def]
    return Store((tensor, 0), tuple(Index.of(a) for a in axes), value, axes)


def softmax() -> Store:
    top = reduce("max", (R,), x(ROW, R))
    total = reduce("sum", (S,), apply("exp", apply("sub", x(ROW, S), top)))
    return store("y", apply("div", apply("exp", apply("sub", x(ROW, COLUMN), top)), total), ROW, COLUMN)


def test_softmax_is_rows_and_reads_each_once() -> None:
    rows = rows_of([softmax()])
    assert rows is not None
    assert (rows.chosen, rows.along) == ((ROW,), (COLUMN,))
    values = list(walk(rows.stores[0].value))
    assert {v.axes for v in values if isinstance(v, Reduce)} == {(COLUMN,)}
    assert sum(v is x(ROW, COLUMN) for v in values) == 1


def test_a_reduction_over_something_else_is_no_row() -> None:
    other = Axis("k", Size.of("k"))
    product = reduce("sum", (other,), apply("mul", x(ROW, other), x(other, COLUMN)))
    assert rows_of([store("y", apply("div", product, reduce("max", (R,), x(ROW, R))), ROW, COLUMN)]) is None
    assert rows_of([store("y", x(ROW, COLUMN), ROW, COLUMN)]) is None


def test_a_sum_over_everything_is_split_and_joined() -> None:
    whole = store("z", apply("mul", reduce("sum", (R,), x(ROW, R)), number(2.0)), ROW)
    (one,) = flat([whole], SHAPES)
    assert can_split([one])
    halves = split([one], "part", {"m": 5, "n": 7})
    (first,), (second,), (between,) = halves.made, halves.joined, halves.between
    assert between.shape == (Size.of("PARTS"), M)
    assert [a.name for a in first.axes] == ["part", "i"]
    (joined,) = [v for v in walk(second.value) if isinstance(v, Reduce)]
    assert [a.name for a in joined.axes] == ["part"]
    assert not can_split(flat([softmax()], SHAPES))


def test_two_results_of_one_sum_are_split_together() -> None:
    total = reduce("sum", (R,), x(ROW, R))
    halves = [store("w", apply("sqrt", total), ROW), store("z", apply("mul", total, number(2.0)), ROW)]
    two = flat(halves, {**SHAPES, "w": (M,)})
    assert can_split(two)
    found = split(two, "part", {"m": 5, "n": 7})
    assert [s.tensor[0] for s in found.joined] == ["w", "z"]
    assert (len(reductions_of(found.joined)), len(found.between)) == (1, 1)
    assert not can_split([two[0], store("y", x(ROW, COLUMN), ROW, COLUMN)])


def test_sums_of_several_things_over_the_same_are_split_together() -> None:
    """As the gradients of a norm's weight and bias are: one look at what both add up."""
    plain, squares = reduce("sum", (R,), x(ROW, R)), reduce("sum", (S,), apply("mul", x(ROW, S), x(ROW, S)))
    both = flat([store("w", plain, ROW), store("z", apply("sub", squares, plain), ROW)], {**SHAPES, "w": (M,)})
    assert can_split(both)
    found = split(both, "part", {"m": 5, "n": 7})
    assert [s.tensor[0] for s in found.made] == ["part", "part_1"] == [t.name for t in found.between]
    assert {s.axes for s in found.made} == {found.made[0].axes}
    assert [len(reductions_of([s])) for s in found.joined] == [1, 2]


def test_parts_of_what_lies_apart_are_of_any_length() -> None:
    """Those of a line begin where vectors do; those of a column of rows need not."""
    down = store("z", reduce("sum", (R,), load("t", (Index.of(R), Index.of(ROW)), "float")), ROW)
    shapes = {**SHAPES, "t": (N, M)}
    (column,), (line,) = flat([down], shapes), flat([store("z", reduce("sum", (R,), x(ROW, R)), ROW)], SHAPES)
    lengths = [dict.fromkeys(split([s], "part", {"m": 5, "n": 7}).made[0].value.axes) for s in (column, line)]
    assert [[a.extent.at({"n": 5000, "PARTS": 4}) for a in axes] for axes in lengths] == [[1250], [2048]]


def test_neighbouring_axes_become_one_where_no_place_changes() -> None:
    (one,) = flat([store("y", apply("exp", x(ROW, COLUMN)), ROW, COLUMN)], SHAPES)
    assert [a.extent for a in one.axes] == [M * N]
    transposed = load("t", (Index.of(COLUMN), Index.of(ROW)), "float")
    (two,) = flat([store("y", transposed, ROW, COLUMN)], {**SHAPES, "t": (N, M)})
    assert len(two.axes) == 2
    assert two.index[0] == linear([Index.of(ROW), Index.of(COLUMN)], [M, N])
