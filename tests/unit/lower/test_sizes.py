"""Sizes as polynomials: what is known of them without knowing the symbols."""

from __future__ import annotations

import pytest

from kernellab.lower.sizes import ONE, ZERO, Size, product_of, times_text


def size(text: int | str) -> Size:
    return Size.of(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [("d0 * 2 + d0", "3 * d0"), ("(d0 + 1) * (d0 - 1)", "d0 * d0 - 1"), ("6 * d0 // 3", "2 * d0"), ("-(d0 - d0)", 0)],
)
def test_two_spellings_of_one_size_are_equal(one: str, other: int | str) -> None:
    assert size(one) == size(other)
    assert hash(size(one)) == hash(size(other))


def test_what_is_no_polynomial_is_a_symbol_of_its_own() -> None:
    half = size("d0 // 2")
    assert half + half == size("2 * (d0 // 2)")
    assert half != size("d0")
    assert half.symbols == {"d0"}
    assert half.at({"d0": 7}) == 3


@pytest.mark.parametrize(
    ("whole", "by", "found"),
    [("6 * d0 * d1", "2 * d1", "3 * d0"), ("d0 + 1", "d0 + 1", 1), ("d0 + 1", "d0", None), ("3 * d0", 2, None)],
)
def test_a_division_that_leaves_something_is_none(whole: str, by: int | str, found: int | str | None) -> None:
    assert size(whole).over(size(by)) == (None if found is None else size(found))


@pytest.mark.parametrize(
    ("more", "less", "known"),
    [("d0 * d1", "d0", True), ("d0", 1, True), ("d0", 2, False), ("d0 * 4 - 3", 1, True), ("d0", "d1", False)],
)
def test_at_least_is_said_only_where_it_holds_for_every_size(more: str, less: int | str, known: bool) -> None:
    assert size(more).at_least(size(less)) is known


@pytest.mark.parametrize("text", ["d0 * d1 - 3", "d0 // 2 + 1", "2 * d0 * d0 - d1", "0"])
def test_its_text_gives_it_back(text: str) -> None:
    assert size(size(text).text) == size(text)
    assert size(size(text).factor_text) == size(text)


def test_products() -> None:
    assert product_of([2, "d0", size(3)]) == size("6 * d0")
    assert product_of([]) == ONE
    assert times_text([size("d0 - 1"), ONE, size(4)]) == "(d0 - 1) * 4"
    assert times_text([]) == "1"
    assert size("d0 - d0") == ZERO
    assert ZERO.number == 0


def test_symbols_give_way_to_what_they_are_made_of() -> None:
    heads, rows = Size.of("g*(h // g)"), Size.of("2*h*m + 3")
    assert rows.put({"h": heads}) == Size.of("2*g*(h // g)*m + 3")
    assert rows.put({}) == rows
    assert [Size.of(t).symbol for t in ("h", "2*h", "h*h", "h // g", "h + 1", "4", "0")] == [
        "h",
        "",
        "",
        "",
        "",
        "",
        "",
    ]
