"""Each formula against a second way to its value, where there is one."""

from __future__ import annotations

import statistics

import pytest

from kernellab.report.paper.figures import published
from kernellab.report.paper.formulas import FORMULAS, derive
from kernellab.report.paper.ledger_prefix import LedgerPrefix


def _result(evidence: LedgerPrefix) -> tuple[int, int, dict[str, float]]:
    found = published(evidence, evidence.shapes[0])
    assert found is not None
    result = evidence.shapes[0].result
    assert result is not None
    return *found, evidence.body(result)


@pytest.mark.parametrize(
    ("formula", "recorded"),
    [("latency", "latency_s"), ("ratio", "speedup"), ("ratio_low", "speedup_low"), ("ratio_high", "speedup_high")],
)
def test_a_figure_is_the_recorded_one(evidence: LedgerPrefix, formula: str, recorded: str) -> None:
    confirmation, _, result = _result(evidence)
    assert derive(formula, evidence, [confirmation], {}) == pytest.approx(result[recorded], rel=1e-12)


def test_bandwidth_and_share_of_the_floor_are_the_recorded_ones(evidence: LedgerPrefix) -> None:
    confirmation, calibration, result = _result(evidence)
    for formula, recorded in (("bandwidth", "gb_per_s"), ("of_floor", "of_floor")):
        assert derive(formula, evidence, [calibration, confirmation], {}) == pytest.approx(result[recorded], rel=1e-12)


def test_a_total_is_the_sum(evidence: LedgerPrefix) -> None:
    seqs = evidence.matching("trial", {})
    total = derive("total", evidence, seqs, {"kind": "trial", "path": "wall_s"})
    assert total == pytest.approx(statistics.fsum(evidence.body(s)["wall_s"] for s in seqs))


def test_wins_shapes_and_entries_are_counted(evidence: LedgerPrefix) -> None:
    assert derive("wins", evidence, [s.result for s in evidence.shapes if s.result], {}) == 1
    assert derive("shapes", evidence, [], {}) == 1
    assert derive("size", evidence, [], {}) == evidence.size


def test_failed_trials_of_a_shape_are_named_one_by_one(evidence: LedgerPrefix) -> None:
    shape = evidence.shapes[0]
    failed = [s for s in shape.trials if evidence.body(s)["status"] in ("invalid", "build-failed")]
    where = {"task": shape.task, "dims": shape.dims}
    assert derive("failed", evidence, failed, where) == 30
    with pytest.raises(ValueError, match="30 entries fit, 29 are named"):
        derive("failed", evidence, failed[1:], where)


def test_the_root_stands_for_all_entries(evidence: LedgerPrefix) -> None:
    assert derive("root", evidence, list(range(evidence.size)), {}) == evidence.root
    with pytest.raises(ValueError, match="stands for"):
        derive("root", evidence, [0, 1], {})


def test_every_formula_says_what_it_does() -> None:
    assert all(f.about and f.name == name for name, f in FORMULAS.items())
