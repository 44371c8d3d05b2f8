"""klab learn prior: from runs that pass the audit alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernellab.cli.learn import learn
from kernellab.core.errors import UsageError
from kernellab.search.prior.checkpoint import read_checkpoint

SUITE = Path(__file__).parents[3] / "runs" / "lab-cpu" / "runs"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs, one of them changed by somebody."""
    for name in ("gemm-f32", "masked_softmax-f32", "cumsum-f32"):
        shutil.copytree(SUITE / name, tmp_path / "runs" / name)
    ledger = tmp_path / "runs" / "cumsum-f32" / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"speedup":', '"speedup": 9', 1))
    return tmp_path / "runs"


def test_a_run_that_fails_the_audit_is_left_out_by_name(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "prior.npz"
    done = CliRunner().invoke(learn, ["prior", str(runs), "--out", str(out), "--json"], catch_exceptions=False)
    said = json.loads(done.stdout)
    assert said["tasks"] == 2
    assert [Path(name).name for name in said["refused"]] == ["cumsum-f32"]
    made = read_checkpoint(out.read_bytes(), "made")
    assert made.kind == "cpu"
    assert len(made.facts["runs"]) == 2


def test_where_none_passes_nothing_is_written(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "prior.npz"
    with pytest.raises(UsageError, match="none of the runs passes the audit"):
        CliRunner().invoke(learn, ["prior", str(runs / "cumsum-f32"), "--out", str(out)], catch_exceptions=False)
    assert not out.exists()
