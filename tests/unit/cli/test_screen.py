"""Nothing that is shown can tell a terminal what to do."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import pytest
from rich.table import Table
from rich.text import Text

from kernellab.cli.screen import Screen, waiting

FORGED = "wrong\x1b[2K\x1b[1Gpassed\u202eover"


def shown(*renderables: object) -> str:
    text = io.StringIO()
    Screen(file=text, force_terminal=True, width=60).print(*renderables, style="red", markup=False)
    return text.getvalue()


def test_codes_in_a_text_are_taken_out_and_the_screens_own_stay() -> None:
    found = shown(FORGED)
    assert "\x1b[31m" in found
    assert "\x1b[2K" not in found
    assert "\u202e" not in found
    assert "wrong\ufffd[2K\ufffd[1Gpassed\ufffdover" in found


def test_in_tables_and_styled_texts_too() -> None:
    table = Table("reason")
    table.add_row(FORGED)
    for found in (shown(table), shown(Text(FORGED, style="bold"))):
        assert "\x1b[2K" not in found
        assert "passed" in found


def test_what_is_waited_for_is_said_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with open(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        patch.setenv("TERM", "xterm")
        with waiting("proving its judge"):
            pass
    said = os.read(ours, 65536)
    os.close(ours)
    assert b"proving its judge" in said


def test_nothing_is_said_of_it_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting("proving its judge"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.heavy
def test_a_full_disk_behind_standard_output_is_told_in_a_whole_sentence() -> None:
    klab = [sys.executable, "-m", "kernellab", "tasks"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(klab, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 5
    assert done.stderr.splitlines() == ["klab: No space left on device", "fix:  free space on that disk"]
