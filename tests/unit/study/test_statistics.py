"""Each statistic on evidence whose truth is known."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.unit.search.memory.specimens import H200, artifact, measured, timing

from kernellab.core.records import Passed, Rejected
from kernellab.study.evidence import Borrowed, Evidence, Examination
from kernellab.study.finding import BEYOND, Finding, NotTestable
from kernellab.study.statistics import STATISTICS

from .evidence_made_up import grid


def compute(name: str, evidence: Evidence, /, **options: Any) -> Finding | NotTestable:
    statistic = STATISTICS[name]
    return statistic.compute(statistic.options.model_validate(options), evidence, 0.9)


def found(name: str, evidence: Evidence, /, **options: Any) -> Finding:
    result = compute(name, evidence, **options)
    assert isinstance(result, Finding), result
    return result


def untestable(name: str, evidence: Evidence, /, **options: Any) -> str:
    result = compute(name, evidence, **options)
    assert isinstance(result, NotTestable), result
    return result.reason


def test_the_choice_is_made_on_other_replicates_than_it_is_measured_on() -> None:
    """B=2 looks best in the first replicate only, by luck: measured on the second it is not."""
    lucky = grid(lambda N, B: 1.0, {"B": [1, 2, 3]})
    lucky.trials[1] = measured(1, 3.0, params={"B": 2}, dims={"M": 256, "N": 512}, seed=1)
    values = found("advantage-of-set", lucky, param="B", predicted=[1])
    assert values.high == pytest.approx(1.0)  # chosen on the first, B=2 is worth 1 on the second, not 3


def test_the_optimum_in_the_set_and_where_it_was() -> None:
    evidence = grid(lambda N, B: 1 + (B == 2), {"B": [1, 2, 4]}, shapes=(512, 1024))
    result = found("advantage-of-set", evidence, param="B", predicted=[2])
    assert (result.value, result.n) == (pytest.approx(2.0), 4)
    assert "fastest B: 2 (4x)" in result.says
    assert "both inside and outside" in untestable("advantage-of-set", evidence, param="B", predicted=[1, 2, 4])


def test_register_pressure_is_read_from_the_artifacts() -> None:
    trials = [
        measured(
            n, speed, params={"THREADS": t}, device=H200, built=artifact("cuda", f"a{n}", registers=r, spill_bytes=s)
        )
        for n, (t, speed, r, s) in enumerate(
            [(128, 1.0, 64, 0), (256, 1.5, 64, 0), (512, 1.2, 64, 32), (1024, 1.1, 64, 0)]
        )
    ]
    result = found("pressure-beyond-optimum", Evidence(list(trials)), param="THREADS")
    assert (result.value, result.n) == (0.5, 2)  # 512 spills; 1024 is slower and does neither
    assert "name no registers" in untestable(
        "pressure-beyond-optimum", grid(lambda N, B: 1.0 / B, {"B": [1, 2]}), param="B"
    )


def examined(number: int, error: float | None, seed: int = 1, distribution: str = "normal") -> Examination:
    verdict: Passed | Rejected = Rejected(cause="non-finite", reason="nan")
    if error is not None:
        verdict = Passed(
            level="screen", cases=1, max_abs_err=error, max_ulp=100 * error, budget_ulp=1, deterministic=True
        )
    return Examination(study="T", trial=number, dims={"M": 1, "N": 2}, distribution=distribution, seed=seed, inputs_seed="",
                       verdict=verdict)  # fmt: skip


def test_the_worst_error_is_over_all_examinations_of_a_replicate() -> None:
    evidence = Evidence([], [examined(0, 0.1), examined(0, 0.3, distribution="large"), examined(1, 0.2, seed=2)])
    result = found("worst-error", evidence)
    assert (result.value, result.low, result.high, result.n) == (pytest.approx(0.25), 0.2, 0.3, 2)
    assert "1x2 under 'large' (trial 0)" in result.says
    assert found("worst-error", evidence, measure="ulp").high == pytest.approx(30)


def test_what_is_not_finite_is_worse_than_any_bound() -> None:
    evidence = Evidence([], [examined(0, 0.1), examined(0, None)])
    assert found("worst-error", evidence).value == BEYOND
    share = found("failure-share", evidence, beyond=0.2)
    assert (share.value, share.n) == (0.5, 2)
    assert "1 not finite" in share.says


def test_a_neighbours_best_configuration_loses_what_the_truth_says() -> None:
    evidence = grid(
        lambda N, B: {(512, 1): 2.0, (512, 2): 1.0, (1024, 1): 1.0, (1024, 2): 1.1}[N, B],
        {"B": [1, 2]},
        shapes=(512, 1024),
    )
    result = found("transfer-loss", evidence)
    assert (result.low, result.high, result.n) == (pytest.approx(0.1), pytest.approx(1.0), 4)
    assert "no two neighbouring" in untestable("transfer-loss", grid(lambda N, B: 1.0, {"B": [1, 2]}))


def test_retention_needs_another_device_and_the_same_baseline() -> None:
    here = Evidence([measured(0, 0.8, params={"B": 1})])
    assert "one device and one ledger" in untestable("retention", here)

    def there(device: str, **changes: Any) -> Evidence:
        trial = measured(5, 1.6, params={"B": 1}, device=device, time=timing(1.6, **changes))
        return Evidence(here.trials, [], [Borrowed(study="T", run="r", root="0", trial=trial)])

    assert "same device" in untestable("retention", there("Neoverse-N1"))
    assert "baselines differ" in untestable("retention", there("Other", baseline="numpy"))
    result = found("retention", there("Other"))
    assert (result.value, result.trials) == (pytest.approx(0.5), (0,))


def test_repeats_agree_within_the_tolerance_or_not() -> None:
    speeds = iter([1.0, 1.0, 1.0, 1.2])
    evidence = grid(lambda N, B: next(speeds), {"B": [1, 2]})
    result = found("repeat-agreement", evidence, within=0.05)
    assert (result.value, result.n) == (0.5, 2)
    assert "20.0 %" in result.says
    assert "two seeds" in untestable("repeat-agreement", grid(lambda N, B: 1.0, {"B": [1]}, seeds=(1,)), within=0.1)


def test_one_at_a_time_misses_what_only_a_combination_gives() -> None:
    alone = grid(lambda N, A, B: (1 + A) * (1 + B), {"A": [0, 1], "B": [0, 1]})
    assert found("one-at-a-time", alone, start={"A": 0, "B": 0}).value == pytest.approx(1.0)
    together = grid(lambda N, A, B: 2.0 if A and B else 1.0 / (1 + A + B), {"A": [0, 1], "B": [0, 1]})
    assert found("one-at-a-time", together, start={"A": 0, "B": 0}).value == pytest.approx(0.5)


def test_a_paired_effect_is_the_ratio_between_the_levels() -> None:
    evidence = grid(lambda N, A, B: (1 + A) * 1.25**B, {"A": [0, 1, 2], "B": [0, 1]})
    result = found("paired-effect", evidence, kind="param", name="B", scope="rows", faster=1, slower=0)
    assert (result.value, result.n) == (pytest.approx(1.25), 3)
    assert math.isclose(result.low, result.high)
    assert "no two trials" in untestable("paired-effect", evidence, kind="param", name="C", faster=1, slower=0)
