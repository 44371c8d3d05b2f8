"""klab show --watch and --events: a run that is followed from outside, by a person and by a program."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.recorded import CUBE, LAB
from tests.support.view_runs import growing

from kernellab.cli.follow import follow
from kernellab.cli.screen import Screen
from kernellab.ledger import kinds
from kernellab.ledger.records import End
from kernellab.suite.folder import SuiteFolder

from .command import Klab, interrupt


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"^\[ *[0-9.]+s\] #(\d+) ", text, re.M)]


def test_a_run_that_has_ended_is_shown_to_its_end(klab: Klab) -> None:
    done = klab("show", CUBE, "--watch")
    assert done.code == 0, done.err
    trials = klab("show", CUBE, "--json").json["trials"]
    assert numbers(done.out) == [t["trial"] for t in trials]
    assert "speed-up [95 %]" in done.out
    assert klab("show", CUBE, "--watch", "--json").json["counts"] == klab("show", CUBE, "--json").json["counts"]


@pytest.mark.heavy
def test_a_run_in_progress_is_followed_until_it_ends(klab: Klab, tmp_path: Path) -> None:
    with growing(tmp_path / "live") as run:
        run.add()
        watching = klab.start("show", run.folder, "--watch", env={"PYTHONUNBUFFERED": "1"})
        seen = read_until(watching, "] #0 ")
        run.add()
        seen += read_until(watching, "] #1 ")
        run.ledger.write(kinds.END, End(results=[]))
        out, err = watching.communicate(timeout=600)
    assert (watching.returncode, err) == (0, "")
    assert numbers(seen + out) == [0, 1]


def test_a_run_whose_writer_was_killed_is_no_run_in_progress(klab: Klab, tmp_path: Path) -> None:
    with growing(tmp_path / "live") as run:
        run.add()
    done = klab("show", run.folder, "--watch")
    done.failed(5, "has not ended, and nobody writes to it any more", f"'klab resume {run.folder}'")
    assert numbers(done.out) == [0]


@pytest.mark.heavy
def test_ctrl_c_ends_the_watching_and_nothing_else(klab: Klab, tmp_path: Path) -> None:
    with growing(tmp_path / "live") as run:
        run.add()
        watching = klab.start("show", run.folder, "--watch", env={"PYTHONUNBUFFERED": "1"})
        read_until(watching, "] #0 ")
        interrupt(watching)
        out, err = watching.communicate(timeout=600)
        assert (watching.returncode, err) == (0, "")
        assert "no longer watched; the run goes on" in out
        run.add()


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    seen = ""
    while words not in seen:
        line = process.stdout.readline()
        assert line, f"it ended before it said '{words}': {seen}"
        seen += line
    return seen


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_program_is_told_what_is_waited_for_and_how_long_it_may_take(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    done = klab(*search(tmp_path / "run", "good", "wrong", "broken", trials=3), "--events", "--json")
    assert done.code in (0, 3, 7), done.err
    assert len(done.out.splitlines()) == 1
    assert done.json["run"] == str(tmp_path / "run")
    events = [json.loads(line) for line in done.err.splitlines()]
    assert events[0]["event"] in ("start", "doing", "note")
    assert [e["trial"] for e in events if e["event"] == "trial"] == [0, 1, 2]
    assert [e["status"] for e in events if e["event"] == "trial"][1:] == ["rejected", "build-failed"]
    doing = {e["text"].split()[0] for e in events if e["event"] == "doing"}
    assert {"choosing", "judging", "timing"} <= doing
    second = next(e for e in events if e["event"] == "trial" and e["trial"] == 1)
    assert (second["trials"], second["trials_at_most"]) == (2, 3)
    assert second["left_s"] >= 0
    assert all(e["left_s"] is None for e in events if e["event"] in ("start", "stage"))
    more = klab("resume", tmp_path / "run", "--more", "1", "--events", "--json")
    told = [json.loads(line) for line in more.err.splitlines()]
    assert told[-1]["event"] == "end", more.err
    assert more.json["run"] == str(tmp_path / "run")


def test_a_suite_is_followed_task_by_task() -> None:
    page = io.StringIO()
    assert follow(Screen(file=page, width=200), LAB)
    lines = [line for line in page.getvalue().splitlines() if re.match(r"\[ *[0-9.]+s\] \d+/\d+ ", line)]
    total = len(SuiteFolder(LAB).plan.tasks)
    assert len(lines) == total
    assert re.match(rf"\[.*\] 1/{total} .*, about [0-9.]+ (s|min|h) left$", lines[0])
    assert f"] {total}/{total} " in lines[-1]
    assert "left" not in lines[-1].rpartition(":")[2]
