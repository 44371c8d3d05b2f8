from __future__ import annotations

import pytest

from kernellab.core.printable import printable


@pytest.mark.parametrize("text", ["plain words", "two\nlines\tand a tab", "größer, 大きい, π"])
def test_words_stay_as_they_are(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("code", ["\x1b", "\x07", "\x08", "\x9b", "\x00", "\u202e", "\u200b", "\ud800", "\x7f"])
def test_what_a_terminal_obeys_is_replaced(code: str) -> None:
    assert printable(f"a{code}[2Kpassed") == "a\ufffd[2Kpassed"


def test_a_carriage_return_overwrites_nothing() -> None:
    assert printable("invalid\rpassed") == "invalid passed"
