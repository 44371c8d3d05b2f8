"""What the pages are made of: places, rows at a glance, a ledger that grows, checks in the background."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.recorded import CUBE, CUBES
from tests.support.view_runs import growing, noted_run

from kernellab.core.errors import LedgerFault
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.lines import Lines
from kernellab.ledger.lock import is_written
from kernellab.report.paper.figures import rows_of
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.run_list import read_row
from kernellab.view.checks import Checks
from kernellab.view.drawings import thinned
from kernellab.view.folder_facts import PENDING, SOUND, UNSOUND, FolderFacts
from kernellab.view.glance import glance
from kernellab.view.live_run import LiveRun, OpenRuns
from kernellab.view.notebook_facts import notebook_facts
from kernellab.view.places import places
from kernellab.view.progress import progress_of
from kernellab.view.run_facts import run_facts
from kernellab.view.trial_facts import trial_facts

RUNS = Path(__file__).parents[3] / "runs"
RECORDED = [CUBE, CUBES, RUNS / "h200-tuned" / "softmax-bf16", RUNS / "h200-studies" / "H3", RUNS / "lab-cpu"]


@pytest.mark.parametrize("folder", RECORDED, ids=lambda f: f.name)
def test_a_glance_at_an_ended_run_says_what_reading_all_of_it_says(folder: Path) -> None:
    assert glance(folder) == read_row(folder)


def test_a_glance_passes_over_a_torn_last_line(tmp_path: Path) -> None:
    with growing(tmp_path / "run") as run:
        run.add()
        run.add()
    with (tmp_path / "run" / LEDGER_FILE).open("ab") as file:
        file.write(b'{"body":{"trial":7')
    assert glance(tmp_path / "run").trials == 2
    assert glance(tmp_path / "run").status == "unfinished"


def test_places_are_named_by_digests_and_suites_hold_theirs() -> None:
    found = places(RUNS)
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in found)
    suite = next(p for p in found.values() if p.name == "lab-cpu")
    inner = [p for p in found.values() if p.suite == suite.key]
    assert len(inner) == 39
    assert places(CUBE) != {}
    assert next(iter(places(CUBE).values())).name == "cube"


def test_lines_can_start_where_a_reader_stopped(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"a":1}\n{"b":2}\n')
    first = Lines(path)
    assert list(first) == [b'{"a":1}', b'{"b":2}']
    with path.open("ab") as file:
        file.write(b'{"c":3}\n{"d"')
    later = Lines(path, start=first.good)
    assert list(later) == [b'{"c":3}']
    assert later.torn == b'{"d"'
    assert later.good == first.good + 8


def test_a_growing_run_is_read_on_from_where_the_last_look_ended(tmp_path: Path) -> None:
    with growing(tmp_path / "run") as run:
        run.add()
        live = LiveRun(run.folder)
        assert live.count_trials == 1 if hasattr(live, "count_trials") else len(live.trials) == 1
        assert is_written(run.folder)
        for _ in range(4):
            run.add()
        live.refresh()
        whole = LedgerPrefix(run.folder)
        assert live.trials == whole.trials
        assert live.shapes == whole.shapes
        assert live.timings == whole.timings
        assert live.root == whole.root
        assert live.read == (run.folder / LEDGER_FILE).stat().st_size
        assert rows_of("convergence", live, {"shape": 0}) == rows_of("convergence", whole, {"shape": 0})
        told = progress_of(live).words
        assert told.startswith("running: 5 of at most")
        assert " left, confirmations aside" in told, "what the screen of the run says too"
    assert not is_written(run.folder)
    told = progress_of(live).words
    assert told.startswith("not ended, and nobody writes to it now: 5 of at most")
    assert "left" not in told


def test_half_a_line_is_read_when_its_other_half_has_come(tmp_path: Path) -> None:
    with growing(tmp_path / "run") as run:
        run.add()
        live = LiveRun(run.folder)
        run.add()
    ledger = run.folder / LEDGER_FILE
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-40])
    live.refresh()
    assert len(live.trials) == 1
    ledger.write_bytes(whole)
    live.refresh()
    assert len(live.trials) == 2


def test_a_run_that_was_replaced_or_cut_is_read_anew(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(CUBES, folder)
    place = next(iter(places(tmp_path).values()))
    runs = OpenRuns()
    before = runs.get(place)
    assert runs.get(place) is before
    lines = (folder / LEDGER_FILE).read_bytes().splitlines(keepends=True)
    (folder / LEDGER_FILE).write_bytes(b"".join(lines[:5]))
    assert runs.get(place).size == 5
    (folder / LEDGER_FILE).write_bytes(b"".join(lines[:5]) + b"no entry\n" + lines[5])
    with pytest.raises(LedgerFault, match="no entry"):
        runs.get(place)


def test_a_row_says_that_its_ledger_was_not_checked_before_it_was(tmp_path: Path) -> None:
    shutil.copytree(CUBE, tmp_path / "good")
    shutil.copytree(CUBES, tmp_path / "bad")
    ledger = tmp_path / "bad" / LEDGER_FILE
    ledger.write_bytes(ledger.read_bytes().replace(b'"win":true', b'"win":false'))
    later = FolderFacts(tmp_path, Checks())
    assert {run.ledger for run in later.listed()} <= {PENDING, SOUND, UNSOUND}
    at_once = FolderFacts(tmp_path, Checks(at_once=True))
    found = {run.place.name: run for run in at_once.listed()}
    assert found["good"].ledger == SOUND
    assert found["bad"].ledger == UNSOUND
    assert "changed after they were signed" in found["bad"].problem
    assert found["bad"].row is not None


def test_the_facts_of_a_run(tmp_path: Path) -> None:
    told = run_facts(LedgerPrefix(CUBE))
    assert told.counts["measured"] >= 1
    assert told.lines[0].number == sum(told.counts.values()) - 1
    assert told.shapes[0].floor_ms is not None
    assert told.shapes[0].best is not None
    assert told.shapes[0].best.win
    assert told.progress.words == "ended"


def test_a_trial_is_compared_with_the_base_of_its_experiment(tmp_path: Path) -> None:
    run = LedgerPrefix(noted_run(tmp_path / "run"))
    told = trial_facts(run, 1)
    assert told.experiment is not None
    assert told.parent is not None
    assert told.parent.number == 0
    assert told.parent.how == "the base of experiment 2 of generation 0"
    assert [line for sign, line in told.parent.diff if sign in "+-"] == ["-two", "+2", "+four"]
    noted = notebook_facts(run)
    assert noted.chapters[0].tested[0].verdict == "held"
    assert noted.questions[0].asked == [("system", "Be brief."), ("user", "What would you try?")]
    assert noted.questions[0].answer == "Wider loads."


def test_a_rejected_trial_says_its_first_wrong_elements() -> None:
    told = trial_facts(LedgerPrefix(CUBE), 2)
    assert told.verdict is not None
    assert told.verdict.status == "rejected"
    assert "first" in told.verdict.reason
    assert told.code is not None


def test_very_many_dots_are_thinned_and_every_step_of_the_best_stays() -> None:
    rows = [{"number": n, "us": 100.0, "best": 100.0 - n // 1000} for n in range(10_000)] + [
        {"state": "floor", "line": 1.0}
    ]
    kept = thinned(rows, 100)
    assert len(kept) < 130
    assert {row["best"] for row in kept if "best" in row} == {100.0 - n for n in range(10)}
    assert kept[-1] == {"state": "floor", "line": 1.0}
