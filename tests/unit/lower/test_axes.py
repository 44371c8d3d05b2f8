"""Indices: taken apart by the sizes of another shape, as a reshape does it."""

from __future__ import annotations

import itertools

import pytest

from kernellab.lower.axes import Axis, Index, Looked, Quotient, Refine, Remainder, digits, linear, strides
from kernellab.lower.sizes import ONE, ZERO, Size

A, B, C = Axis("a", Size.of("d0")), Axis("b", Size.of(6)), Axis("c", Size.of(4))


def at(index: Index, places: dict[str, int], sizes: dict[str, int]) -> int:
    """What an index is at a point."""
    whole = index.offset.at(sizes)
    for term, factor in index.terms:
        if isinstance(term, Axis):
            value = places[term.name]
        else:
            assert isinstance(term, Quotient | Remainder)
            inner, by = at(term.of, places, sizes), term.by.at(sizes)
            value = inner // by if isinstance(term, Quotient) else inner % by
        whole += value * factor.at(sizes)
    return whole


def points(*axes: Axis) -> list[dict[str, int]]:
    ranges = [range(a.extent.at({"d0": 3})) for a in axes]
    return [dict(zip((a.name for a in axes), p, strict=True)) for p in itertools.product(*ranges)]


@pytest.mark.parametrize("shape", [("d0", 6, 4), ("6 * d0", 4), ("d0", 24), ("24 * d0",)])
def test_a_reshape_keeps_the_place_in_memory(shape: tuple[int | str, ...]) -> None:
    extents = [Size.of(e) for e in shape]
    whole = linear([Index.of(A), Index.of(B), Index.of(C)], [A.extent, B.extent, C.extent])
    found = digits(whole, extents)
    for place in points(A, B, C):
        assert at(linear(found, extents), place, {"d0": 3}) == at(whole, place, {"d0": 3})
    assert not any(isinstance(t, Quotient | Remainder) for i in found for t, _ in i.terms)


def test_a_digit_that_ends_inside_an_axis_splits_it() -> None:
    with pytest.raises(Refine) as found:
        digits(Index.of(B), [Size.of(2), Size.of(3)])
    assert (found.value.axis, found.value.inner) == (B, Size.of(3))


def test_where_an_axis_cannot_be_split_a_quotient_and_a_remainder_stand() -> None:
    whole = linear([Index.of(A), Index.of(C)], [A.extent, C.extent])
    high, low = digits(whole, [Size.of("d0 * 4 // 3"), Size.of(3)])
    for place in points(A, C):
        assert at(high, place, {"d0": 3}) * 3 + at(low, place, {"d0": 3}) == at(whole, place, {"d0": 3})
        assert 0 <= at(low, place, {"d0": 3}) < 3


def test_what_lies_inside_is_known_for_all_sizes_or_not_at_all() -> None:
    assert Index.of(A).inside(Size.of("d0"))
    assert not Index.of(A).shifted(ONE).inside(Size.of("d0"))
    assert Index.of(A).times(Size.of(-1)).shifted(Size.of("d0 - 1")).inside(Size.of("d0"))
    assert not Index.of(A).shifted(Size.of(-1)).inside(Size.of("d0"))


def test_axes_of_one_element_are_no_axes() -> None:
    assert Index.of(Axis("one", ONE)) == Index()
    assert (Index.of(A) + Index.of(A).times(Size.of(-1))) == Index()
    assert Index.of(A).times(ZERO) == Index()
    assert strides([Size.of("d0"), Size.of(6)]) == [Size.of(6), ONE]


def test_a_looked_up_index_depends_on_what_it_is_looked_up_with() -> None:
    class Value:
        free = frozenset({A})

    assert Index(((Looked(Value(), Size.of(9)), ONE),)).axes == {A}


def test_nothing_is_said_of_what_is_left_of_a_negative_number() -> None:
    """Languages round it differently, so a guard around it must stay."""
    before = Index.of(B).shifted(Size.of(-1))
    assert not Index.of(Quotient(before, Size.of(2))).inside(Size.of(6))
    assert not Index.of(Remainder(before, Size.of(2))).inside(Size.of(2))
    assert Index.of(Quotient(Index.of(B), Size.of(2))).inside(Size.of(3))
