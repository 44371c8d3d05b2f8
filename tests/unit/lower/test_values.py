"""Values: equal ones are one object, and what needs no operation is none."""

from __future__ import annotations

from kernellab.lower.axes import Axis, Index
from kernellab.lower.sizes import Size
from kernellab.lower.values import Guard, apply, guard, load, number, place, reduce, walk

ROW, COLUMN = Axis("i", Size.of("d0")), Axis("j", Size.of(8))
X = load("x", (Index.of(ROW), Index.of(COLUMN)), "float")


def test_equal_values_are_one_object() -> None:
    assert apply("mul", X, X) is apply("mul", X, X)
    assert load("x", (Index.of(ROW), Index.of(COLUMN)), "float") is X
    assert number(1) is not number(1.0)


def test_a_reduction_does_not_depend_on_its_own_axes() -> None:
    total = reduce("sum", (COLUMN,), X)
    assert X.free == {ROW, COLUMN}
    assert total.free == {ROW}
    assert reduce("argmax", (COLUMN,), X).kind == "int"


def test_numbers_are_computed_and_what_changes_nothing_goes() -> None:
    assert apply("add", number(2.0), number(3.0)) is number(5.0)
    assert apply("mul", X, number(1.0)) is X
    assert apply("add", number(0.0), X) is X
    assert apply("float", X) is X
    assert apply("where", apply("lt", X, number(0.0)), X, X) is X
    assert place(Index.of(Size.of(7))) is number(7)


def test_nothing_times_zero_goes_for_it_may_be_no_number() -> None:
    assert apply("mul", X, number(0.0)) is not number(0.0)


def test_a_guard_that_always_holds_is_none() -> None:
    assert guard(((Index.of(COLUMN), Size.of(8)),), X, number(0.0)) is X
    kept = guard(((Index.of(COLUMN).shifted(Size.of(-1)), Size.of(8)), (Index.of(ROW), Size.of("d0"))), X, number(0.0))
    assert isinstance(kept, Guard)
    assert len(kept.bounds) == 1


def test_a_walk_gives_each_value_once_and_its_parts_before_it() -> None:
    whole = apply("add", apply("mul", X, X), X)
    assert list(walk(whole)) == [X, apply("mul", X, X), whole]
