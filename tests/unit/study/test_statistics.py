"""Each statistic on evidence whose truth is known."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.unit.search.memory.specimens import H200, ROWS_CHILD, artifact, duplicate, measured, timing

from kernellab.core.records import AnyTrial, Param, Passed, Rejected
from kernellab.studies.evidence import Borrowed, Evidence, Examination
from kernellab.studies.finding import BEYOND, Finding, NotTestable
from kernellab.studies.statistics import STATISTICS

from .evidence_made_up import grid, idle


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
    return Examination(study="T", trial=number, dims={"M": 1, "N": 2}, distribution=distribution, seed=seed,
                       inputs_seed=f"{seed} {distribution}",                       verdict=verdict)  # fmt: skip


def test_the_worst_error_is_over_all_examinations_of_a_replicate() -> None:
    evidence = Evidence([], [examined(0, 0.1), examined(0, 0.3, distribution="large"), examined(1, 0.2, seed=2)])
    result = found("worst-error", evidence)
    assert (result.value, result.low, result.high, result.n) == (pytest.approx(0.25), 0.2, 0.3, 2)
    assert "1x2 under 'large' (trial 0)" in result.says
    assert found("worst-error", evidence, measure="ulp").high == pytest.approx(30)


def test_what_is_not_finite_is_worse_than_any_bound() -> None:
    evidence = Evidence([], [examined(0, 0.1), examined(0, None, distribution="large")])
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


def test_duplicates_stand_for_their_combination_and_add_no_value() -> None:
    """A parameter that changes nothing: 2 measurements and 8 duplicates are one pair of trials, not five."""
    result = found("repeat-agreement", idle({"B": [1, 2, 3, 4, 5]}), within=0.5)
    assert (result.value, result.n, result.trials) == (1.0, 1, (0, 5))
    assert "4 more with the same machine code do not count" in result.says


def test_the_same_machine_code_on_the_same_inputs_is_examined_once() -> None:
    evidence = idle({"B": [1, 2, 3]})
    evidence.examinations = [examined(t.trial, 0.0, seed=t.seed) for t in evidence.trials]
    evidence.examinations.append(examined(0, 0.0, distribution="large"))
    result = found("failure-share", evidence, beyond=1e-3)
    assert (result.n, result.trials) == (3, (0, 3))  # two replicates under 'normal', one under 'large'
    assert "4 more with the same machine code do not count" in result.says
    assert "3 examinations" in found("worst-error", evidence).says


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("advantage-of-set", {"param": "B", "predicted": [1]}),
        ("transfer-loss", {}),
        ("one-at-a-time", {"start": {"B": 1}}),
    ],
)
def test_there_is_nothing_to_choose_between_equal_kernels(name: str, options: dict[str, Any]) -> None:
    evidence = idle({"B": [1, 2, 3]}, shapes=(512, 1024))
    assert "the same machine code" in untestable(name, evidence, **options)


def test_a_set_is_not_compared_with_its_own_duplicates() -> None:
    evidence = idle({"IDLE": [1, 2]}, {"B": [1, 2]})
    assert "the same machine code" in untestable("advantage-of-set", evidence, param="IDLE", predicted=[1])
    assert found("advantage-of-set", evidence, param="B", predicted=[2]).n == 2


def test_settings_with_the_same_machine_code_are_one_case_of_register_pressure() -> None:
    trials: list[AnyTrial] = [
        measured(
            n, speed, params={"THREADS": t}, device=H200, built=artifact("cuda", name, registers=64, spill_bytes=s)
        )
        for n, (t, speed, name, s) in enumerate(
            [(128, 1.5, "a", 0), (256, 1.2, "b", 32), (512, 1.2, "b", 32), (1024, 1.1, "c", 0)]
        )
    ]
    result = found("pressure-beyond-optimum", Evidence(trials), param="THREADS")
    assert (result.value, result.n) == (0.5, 2)


def test_a_level_that_changes_no_machine_code_has_no_effect_whichever_was_measured() -> None:
    """Which of two equal kernels is measured changes with the order of a replicate: still one kernel."""

    def params(b: int) -> dict[str, Param]:
        return {"B": b}

    trials: list[AnyTrial] = [
        measured(0, 1.0, params=params(1), seed=1, built=artifact(name="a")),
        duplicate(1, 0, params=params(2), seed=1),
        measured(2, 1.1, params=params(2), seed=2, built=artifact(name="a")),
        duplicate(3, 2, params=params(1), seed=2),
    ]
    options = {"kind": "param", "name": "B", "scope": "rows", "faster": 2, "slower": 1}
    assert "no two trials" in untestable("paired-effect", Evidence(trials), **options)


def borrowed(number: int, speedup: float, code: str = "there", run: str = "r", **changes: Any) -> Borrowed:
    trial = measured(number, speedup, built=artifact(name=code), **{"device": "Other", **changes})
    return Borrowed(study="T", run=run, root="0", trial=trial)


def here(*speedups: float, code: str = "here", **changes: Any) -> list[AnyTrial]:
    """One kernel in one replicate after the other."""
    return [measured(n, s, built=artifact(name=code), seed=n, **changes) for n, s in enumerate(speedups)]


def test_retention_is_of_a_kernel_over_all_its_replicates_and_counts_it_once() -> None:
    evidence = Evidence(here(0.8, 1.2, 1.0), [], [borrowed(5, 2.0), borrowed(5, 2.0), borrowed(7, 2.0, run="s")])
    result = found("retention", evidence)
    assert (result.value, result.n, result.trials) == (pytest.approx(0.5), 1, (0, 1, 2))


def test_retention_needs_other_machine_code_or_another_machine() -> None:
    ours, theirs = "Neoverse-N1", "Neoverse-N1, built for native"
    same = Evidence(here(1.0, code="x"), [], [borrowed(5, 1.0, "x", device=theirs)])
    assert "the same machine code" in untestable("retention", same)
    generic = Evidence(here(1.0, code="x"), [], [borrowed(5, 1.0, "y", device=theirs)])
    assert found("retention", generic).n == 1
    elsewhere = Evidence(here(1.0, code="x", device=ours), [], [borrowed(5, 1.0, "x", device="Another")])
    assert found("retention", elsewhere).n == 1


def test_retention_compares_only_the_same_source() -> None:
    changed = Evidence(here(1.0), [], [borrowed(5, 1.0, text=ROWS_CHILD)])
    assert "none of its kernels" in untestable("retention", changed)
