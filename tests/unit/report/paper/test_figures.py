from __future__ import annotations

import json

import pytest

from kernellab.report.paper import charts
from kernellab.report.paper.document import PaperFile
from kernellab.report.paper.figures import ROWS, digest_of, rows_of
from kernellab.report.paper.ledger_prefix import LedgerPrefix


def test_points_lead_to_entries(paper: PaperFile, evidence: LedgerPrefix) -> None:
    assert {f.formula for f in paper.figures} == set(ROWS)
    for figure in paper.figures:
        assert all(0 <= row["entry"] < evidence.size for row in figure.rows)
        assert rows_of(figure.formula, evidence, figure.args) == figure.rows
        assert digest_of(figure.rows) == figure.sha256


def test_convergence_has_a_dot_for_each_trial_and_a_falling_line(evidence: LedgerPrefix) -> None:
    rows = rows_of("convergence", evidence, {"shape": 0})
    dots = [r for r in rows if "number" in r]
    statuses = [trial.status for trial in evidence.trials]
    assert len(dots) == sum(s != "duplicate" for s in statuses)
    best = [r["best"] for r in dots if "best" in r]
    assert best == sorted(best, reverse=True)
    reached = [
        min((d["us"] for d in dots[: n + 1] if d["state"] == "measured"), default=None) for n in range(len(dots))
    ]
    assert [d.get("best") for d in dots] == reached
    assert len({d["us"] for d in dots if d["state"] != "measured"}) == 1  # all of them above everything measured
    assert max(d["us"] for d in dots if d["state"] == "measured") < max(d["us"] for d in dots)
    assert {r["state"] for r in rows if "line" in r} == {"baseline as calibrated", "floor"}


def test_no_point_lies_above_the_roof(evidence: LedgerPrefix) -> None:
    rows = rows_of("roofline", evidence, {})
    roof = [r for r in rows if r["kind"] == "ceiling"]
    slope = roof[0]["gflops"] / roof[0]["intensity"]
    assert all(
        r["gflops"] <= min(slope * r["intensity"], roof[-1]["gflops"]) * 1.02 for r in rows if r["kind"] != "ceiling"
    )


def test_a_drawing_says_its_axes_and_is_drawn_the_same_twice(paper: PaperFile) -> None:
    figure = next(f for f in paper.figures if f.formula == "convergence")
    svg = charts.draw(figure.spec, figure.rows)
    charts._svg.cache_clear()
    assert charts.draw(figure.spec, figure.rows) == svg
    assert charts.words_in(svg) == figure.labels
    assert any("latency" in label for label in figure.labels)
    assert "rows" not in json.dumps(figure.spec.get("datasets", {}))


def test_an_unknown_figure_is_refused(evidence: LedgerPrefix) -> None:
    with pytest.raises(ValueError, match="no figure"):
        rows_of("pie", evidence, {})
