"""Quantiles, fast_p, intervals, percentages, means and traffic: the words of what is found, and what is left open."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.report.foreign.finding import TableAudit
from kernellab.report.foreign.table import read_tables
from kernellab.report.foreign.verdict import audit_tables


def audit(tmp_path: Path, text: str) -> TableAudit:
    (tmp_path / "t.csv").write_text(text)
    return audit_tables(read_tables(tmp_path / "t.csv"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kernel,p50 (ms),p99 (ms)\na,2.0,1.0\n", "p50 (ms) is 2, above p99 (ms) with 1"),
        ("model,fast_1,fast_2\na,0.20,0.31\n", "fast_2 is 0.31, above fast_1 with 0.2"),
        ("kernel,speed-up\na,\"1.50x [1.60, 1.70]\"\n", "1.5 lies outside its own interval '1.50x [1.60, 1.70]'"),
        ("kernel,torch (ms),ours (ms),faster (%)\na,1.00,0.80,60 %\n",
         "the quotient of the latencies is 1.25: that is not 60 % (faster (%))"),
        ("task,speedup\na,1.0\nb,4.0\ngeomean,3.0\n", "the geometric mean of the 2 rows is 2, not 3"),
        ("# GEMM, fp16\nM,N,K,ms,TFLOP/s\n1024,1024,1024,1.00,9.0\n", "2MNK over the latency is 2.147 TFLOP/s, not 9"),
    ],
)  # fmt: skip
def test_what_is_found_says_both_figures(text: str, what: str, tmp_path: Path) -> None:
    assert what in [c.what for c in audit(tmp_path, text).found]


def test_a_peak_is_named_with_its_source(tmp_path: Path) -> None:
    (found,) = audit(tmp_path, "# fp16 GEMM on an A100\nkernel,TFLOP/s\na,400\n").found
    assert found.what.startswith("400 TFLOP/s lies above the 312 TFLOP/s (fp16) of an A100 (https://www.nvidia.com/")


@pytest.mark.parametrize("percent", ["25 %", "20 %"])
def test_faster_may_mean_more_speed_or_less_time(percent: str, tmp_path: Path) -> None:
    found = audit(tmp_path, f"kernel,torch (ms),ours (ms),faster (%)\na,1.00,0.80,{percent}\n")
    assert found.found == []
    assert found.comparisons["percentage"] == 1


def test_rows_that_move_different_bytes_are_never_consistent(tmp_path: Path) -> None:
    rows = "kernel,time (ms),GB/s\nv1,2.00,100\nv2,1.00,{}\n"
    assert audit(tmp_path, rows.format(200)).status == "consistent"
    doubtful = audit(tmp_path, rows.format(400))
    assert doubtful.status != "consistent"
    assert "moves more than it must" in doubtful.gaps[0].why
    assert audit(tmp_path, "# effective bandwidth\n" + rows.format(400)).status == "contradictions"


def test_a_mean_over_more_than_is_shown_is_left_open(tmp_path: Path) -> None:
    assert audit(tmp_path, "# over all 250 problems\ntask,speedup\na,1.0\nb,4.0\ngeomean,3.0\n").found == []
