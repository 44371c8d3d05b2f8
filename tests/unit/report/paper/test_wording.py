from __future__ import annotations

import pytest

from kernellab.report.paper.claims import Claim
from kernellab.report.paper.wording import said, stray_numbers, wrong_units


@pytest.mark.parametrize(
    "word",
    ["7", "½", "②", "Ⅻ", "x²", "٣", "two", "Ninety", "forty-two", "twentyfive", "fiftyfold", "ten-fold", "one-third", "`twice`",
     "halved", "thousandths", "dozen", "doubles", "onehundred"],
)  # fmt: skip
def test_a_number_in_any_writing_is_one(word: str) -> None:
    assert list(stray_numbers(f"it is {word}, so")) == [f"{word},"]


@pytest.mark.parametrize("word", ["one", "often", "unfold", "weight", "second", "attend", "stone", "network", "first"])
def test_other_words_are_none(word: str) -> None:
    assert list(stray_numbers(word)) == []


def test_only_links_and_quiet_signs_may_change() -> None:
    plain = "⟦c1⟧ takes ⟦c2⟧\u00a0µs and is faster: a ratio of ⟦c3⟧ [⟦c4⟧]."
    assert said(plain) == ["⟦c1⟧", "takes", "⟦c2⟧ µs", "faster", "ratio", "of", "⟦c3⟧", "⟦c4⟧"]
    assert said("Here the ⟦c1⟧ takes ⟦c2⟧ µs; it was faster, with a ratio of ⟦c3⟧ (⟦c4⟧)") == said(plain)


@pytest.mark.parametrize(
    "word", ["isn't", "wasn’t", "not", "no", "than", "`x`", "=", "½", "or", "may", "when", "-⟦c1⟧", "!", "\u202e"]
)
def test_all_else_is_said(word: str) -> None:
    assert said(f"it is {word}") != said("it is")


@pytest.mark.parametrize(
    ("unit", "wrong"), [("µs", 0), ("ns", 1), ("hours", 1), ("%", 1), ("times", 1), ("of", 0), ("", 0)]
)
def test_a_unit_beside_a_number_is_its_own(unit: str, wrong: int) -> None:
    claim = Claim(id="c1", formula="latency", entries="1", value=1e-6, unit="µs", form="us", printed="1.00")
    assert len(list(wrong_units(f"it takes ⟦c1⟧\u00a0{unit} here", {"c1": claim}))) == wrong


@pytest.mark.parametrize("text", ["⟦c1⟧k", "-⟦c1⟧", "⟦c1⟧⟦c1⟧", "⟦c1⟧.⟦c1⟧", "− ⟦c1⟧", "x⟦c1⟧"])
def test_nothing_is_glued_to_a_number(text: str) -> None:
    claim = Claim(id="c1", formula="pairs", entries="1", value=7, unit="", form="whole", printed="7")
    assert list(wrong_units(f"it is {text} here", {"c1": claim}))
    assert list(wrong_units("[⟦c1⟧, ⟦c1⟧] (⟦c1⟧) ⟦c1⟧x, ⟦c1⟧.", {"c1": claim})) == []


def test_a_unit_is_not_said_twice() -> None:
    claim = Claim(id="c1", formula="latency", entries="1", value=1e-6, unit="µs", form="us+", printed="1.00 µs")
    assert list(wrong_units("⟦c1⟧ µs", {"c1": claim}))
