"""Which maxima and sums of exponentials go together; that the loop is right is judged in test_triton_candidate."""

from __future__ import annotations

import math

from kernellab.lower.axes import Axis, Index
from kernellab.lower.inline import Store
from kernellab.lower.online import Online, online_of, tamed
from kernellab.lower.sizes import Size
from kernellab.lower.values import Reduce, Value, apply, load, number, reduce, size_value

M, N = Size.of("m"), Size.of("n")
ROW, R, S = Axis("i", M), Axis("r", N), Axis("s", N)


def x(tensor: str = "x", axis: Axis = R) -> Value:
    return load(tensor, (Index.of(ROW), Index.of(axis)), "float")


def found(value: Value) -> list[Online]:
    return online_of([Store(("y", 0), (Index.of(ROW),), value, (ROW,))])


def total(element: Value, top: Value, axis: Axis = R) -> Value:
    return reduce("sum", (axis,), apply("exp", apply("sub", element, top)))


TOP = reduce("max", (R,), x())


def test_a_maximum_goes_with_the_sum_of_exponentials_below_it() -> None:
    whole = total(x(), TOP)
    assert found(apply("add", apply("log", whole), TOP)) == [Online("exponentials", TOP, whole)]


def test_a_sum_as_logsumexp_writes_it_is_made_below_the_maximum_itself() -> None:
    assert isinstance(TOP, Reduce)
    infinite = apply("eq", apply("abs", TOP), number(math.inf))
    written = total(x(), apply("where", infinite, number(0.0), TOP))
    known = apply("where", apply("gt", TOP, number(0.0)), number(math.inf), number(0.0))
    assert tamed(written) is apply("where", infinite, known, total(x(), TOP))
    assert found(tamed(written)) == [Online("exponentials", TOP, total(x(), TOP))]
    for other in (total(x(), TOP), total(x(), apply("where", infinite, number(1.0), TOP)), total(x("z"), TOP), TOP):
        assert tamed(other) is other


def squares(element: Value, mean: Value) -> Value:
    away = apply("sub", element, mean)
    return reduce("sum", (R,), apply("mul", away, away))


SUM = reduce("sum", (R,), x())
LENGTH = apply("float", size_value(N))


def test_a_sum_goes_with_the_squares_of_the_distances_from_its_mean() -> None:
    whole = squares(x(), apply("div", SUM, LENGTH))
    assert found(whole) == [Online("moments", SUM, whole)]


def test_of_two_sums_below_one_maximum_one_goes_with_it() -> None:
    scaled = reduce("sum", (R,), apply("mul", apply("exp", apply("sub", x(), TOP)), number(2.0)))
    assert len(found(apply("add", total(x(), TOP), scaled))) == 1


def test_other_things_do_not() -> None:
    assert isinstance(TOP, Reduce)
    others = [
        total(x(), number(1.0)),
        total(x("z"), TOP),
        total(x("x", S), TOP, S),
        total(x(), reduce("min", (R,), x())),
        reduce("max", (R,), apply("exp", apply("sub", x(), TOP))),
        reduce("sum", (R,), apply("exp", apply("sub", TOP, x()))),
        reduce("sum", (R,), apply("sqrt", apply("sub", x(), TOP))),
        squares(x(), apply("div", SUM, number(7.0))),
        squares(x(), SUM),
        squares(x("z"), apply("div", SUM, LENGTH)),
        reduce("sum", (R,), apply("mul", apply("sub", x(), apply("div", SUM, LENGTH)), x())),
    ]
    assert [found(value) for value in others] == [[]] * len(others)
