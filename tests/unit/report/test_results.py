"""The page of results: from a real run's ledger, the same bytes every time, and from sound ledgers only."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.recorded import CUBES

from kernellab.cli.show import overview
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import Confirmation
from kernellab.ledger.journal import read_entries
from kernellab.report.results import results_page


@pytest.fixture(scope="module")
def run() -> Path:
    return CUBES


@pytest.fixture(scope="module")
def page(run: Path) -> str:
    return results_page([run], "Cubes", "out/CUBES.md").text


def test_the_same_ledger_gives_the_same_bytes(run: Path, page: str, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "cubes")
    assert results_page([copy], "Cubes", "elsewhere/CUBES.md").text == page
    assert "    klab results cubes --out CUBES.md --title Cubes\n" in page


def test_every_row_of_every_table_names_its_record(run: Path, page: str) -> None:
    entries = {e.seq: e for e in read_entries(run)}
    rows = [line for line in page.splitlines() if line.startswith("| ") and "---" not in line]
    told = [row for row in rows if not row.endswith("| record |")]
    assert len(told) > 40
    for row in told:
        found = re.findall(r"@(\d+)", row.rpartition(" | ")[2])
        assert found, row
        assert all(int(seq) in entries for seq in found)


def test_the_figures_are_the_confirmations(run: Path, page: str) -> None:
    confirmations = [
        (e.seq, Confirmation.model_validate(e.body)) for e in read_entries(run) if e.kind == "confirmation"
    ]
    results = [e.body for e in read_entries(run) if e.kind == "result"]
    for result in results:
        seq, confirmation = next((s, c) for s, c in confirmations if c.trial == result["trial"])
        timing = confirmation.timing
        assert timing is not None
        said = "a win" if confirmation.win else "no win"
        where = f"#{confirmation.trial} @{seq} |"
        assert f"| latency | {timing.latency_s * 1e6:.2f} us | {where}" in page
        assert f"| bandwidth | {timing.gb_per_s:.1f} GB/s | {where}" in page
        assert f"{timing.speedup:.3f} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]: {said} | {where}" in page
        assert f"| pairs | {len(timing.candidate_s)}, " in page


def test_shapes_baselines_counts_profiles_and_roots_are_there(run: Path, page: str) -> None:
    assert page.startswith("# Cubes\n")
    for heading in ("## Overview", "### cube, N=4096", "### cube, N=1000", "## Ledgers"):
        assert f"\n{heading}\n" in page
    assert "| **numpy** (fastest) | " in page
    trials = [e.body for e in read_entries(run) if e.kind == "trial" and e.body["dims"] == {"N": 4096}]
    numbers = [
        sum(t["status"] == s for t in trials) for s in ("measured", "rejected", "invalid", "build-failed", "duplicate")
    ]
    assert f"| {len(trials)} | {' | '.join(map(str, numbers))} | " in page
    assert page.count("from the clock alone: hardware counters are read on a GPU only") == 2
    assert results_page([run]).roots[0] in page


def test_several_runs_make_one_page(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "again")
    both = results_page([run, copy])
    assert both.shapes == 4
    assert "klab results cubes again --out" in both.text


def test_a_run_that_does_not_pass_its_audit_makes_no_page(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    lines = (copy / "ledger.jsonl").read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if json.loads(line)["kind"] == "confirmation")
    lines[at] = re.sub(r'"latency_s":[^,]+', '"latency_s":1e-9', lines[at])
    (copy / "ledger.jsonl").write_text("".join(lines))
    with pytest.raises(LedgerFault, match="does not pass its audit"):
        results_page([copy])


def test_a_run_without_a_result_says_so(run: Path, tmp_path: Path) -> None:
    """As a run that was interrupted during its first shape: cut back to an earlier signed head, and no winner's files yet."""
    copy = Path(shutil.copytree(run, tmp_path / "copy", ignore=shutil.ignore_patterns("best-*")))
    for name in ("ledger.jsonl", "heads.jsonl"):
        lines = (copy / name).read_text().splitlines(keepends=True)
        (copy / name).write_text("".join(lines[:4]))
    text = results_page([copy]).text
    assert text.count("No result is recorded for this shape.") == 2
    assert "| no result recorded |" in text


def test_no_run_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        results_page([])


def test_show_mentions_profiles(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(width=160)
    overview(console, run)
    text = capsys.readouterr().out
    assert text.count("profile of trial") == 2
    assert "arithmetic floor" in text
    overview(console, run, as_json=True)
    assert len(json.loads(capsys.readouterr().out)["profiles"]) == 2
