"""An audit in words; what it checks is tested in tests/unit/report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernellab.cli.audit import tell
from kernellab.cli.screen import Screen
from kernellab.report.audit import audit

RUN = Path(__file__).parents[3] / "runs" / "h200" / "softmax-bf16-quick"


def test_a_truncated_ledger_is_counted_in_grammar_and_no_resume_is_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RUN, folder)
    ledger = folder / "ledger.jsonl"
    first, second = ledger.read_bytes().split(b"\n")[:2]
    ledger.write_bytes(first + b"\n" + second[:40])
    tell(Screen(), audit(folder), [])
    said = capsys.readouterr().out
    assert ": 1 entry, 0 trials, 0 figures derived again, " in said
    assert "the run has not ended\n" in said
    assert "the last line is torn (a crash while writing)\n" in said
    assert "klab resume" not in said, "it refuses what is not sound"
