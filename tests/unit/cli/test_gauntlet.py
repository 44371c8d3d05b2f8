from __future__ import annotations

import io

import pytest
from rich.console import Console

from kernellab.cli.gauntlet import Choice, escape, gauntlet, told
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.search.gauntlet import Row

CAUGHT = Row("cheat_a", "cheat", True, "rejected", "wrong-output", "y: all wrong")
MISSED = Row("cheat_b", "cheat", False, "passed", "", "")
BUSY = Row("honest_c", "honest", True, "busy", "", "others had the processor")


def said(terminal: bool, *rows: Row) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=120, highlight=False, color_system=None)
    with told(console, 3) as emit:
        for row in rows:
            emit(Event("note", "", {"row": row}))
    return text.getvalue()


def test_away_from_a_terminal_every_file_is_a_line_with_its_place() -> None:
    lines = said(False, CAUGHT, MISSED, BUSY).splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["[", "1/3]", "ok", "cheat"],
        ["[", "2/3]", "WRONG", "cheat"],
        ["[", "3/3]", "busy", "honest"],
    ]
    assert "cheat_a" in lines[0]
    assert "wrong-output y: all wrong" in lines[0]


def test_on_a_terminal_a_line_moves_and_only_what_was_not_right_stays() -> None:
    text = said(True, CAUGHT, MISSED, BUSY)
    assert "3/3" in text
    assert "WRONG cheat  cheat_b" in text
    assert "busy  honest honest_c" in text
    assert "ok    cheat" not in text


def test_the_probability_of_escape_is_stated_for_four_shares() -> None:
    found = escape(Settings(effort="standard"))
    assert list(found["probability"]) == ["1/2", "1/8", "1/16", "1/64"]
    assert found["probability"]["1/16"] == pytest.approx((15 / 16) ** found["checks"])


def test_a_seed_without_a_sample_is_a_usage_error() -> None:
    console = Console(file=io.StringIO())
    with pytest.raises(UsageError, match="--seed is for a sample"):
        gauntlet(console, console, Settings(), Choice([], [], seed=3), as_json=False)
