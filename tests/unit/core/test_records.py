from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from kernellab.core.ids import canonical_json
from kernellab.core.records import (
    TRIAL,
    Artifact,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
    dump,
)

PROPOSAL = Proposal(source="ab", name="k", params={"ROWS": 2, "EXP": "poly", "FAST": True, "EPS": 0.5})
ARTIFACT = Artifact(
    id="i", backend="c", code="c", plans="p", log="l", compiler="gcc", flags=[], static_bytes=0, build_s=0.1
)
PASSED = Passed(level="screen", cases=3, max_abs_err=0.0, max_ulp=1.0, budget_ulp=5.0, deterministic=True)
REJECTED = Rejected(cause="crash", reason="SIGSEGV")
COMMON: dict[str, Any] = {
    "trial": 0,
    "task": "softmax",
    "dims": {"M": 2},
    "proposal": PROPOSAL,
    "tier": "T1",
    "seed": 0,
    "device": "cpu",
    "environment": "e",
}


def timing(**changes: Any) -> Timing:
    values: dict[str, Any] = {
        "baseline": "numpy",
        "threads": 1,
        "calls": 1,
        "candidate_s": [1.0, 2.0],
        "baseline_s": [2.0, 4.0],
        "speedup": 2.0,
        "speedup_low": 2.0,
        "speedup_high": 2.0,
        "latency_s": 1.5,
        "gb_per_s": 1.0,
        "floor_s": 0.5,
        "memory_floor_s": 0.5,
        "of_floor": 0.3,
        "of_memory_floor": 0.3,
        "checked": 1,
        "stopped": "budget",
    }
    return Timing(**{**values, **changes})


def test_a_timing_needs_as_many_candidate_as_baseline_samples() -> None:
    with pytest.raises(ValidationError, match="pairs"):
        timing(candidate_s=[1.0], baseline_s=[1.0, 2.0])


def test_a_timing_needs_at_least_one_pair() -> None:
    with pytest.raises(ValidationError, match="at least one pair"):
        timing(candidate_s=[], baseline_s=[])


def test_a_win_without_a_timing_cannot_be_built() -> None:
    with pytest.raises(ValidationError, match="a win needs"):
        Confirmation(trial=0, task="t", dims={"N": 1}, verdict=PASSED, win=True, inputs_seed="")


def test_a_win_with_a_rejected_verdict_cannot_be_built() -> None:
    with pytest.raises(ValidationError, match="a win needs"):
        Confirmation(trial=0, task="t", dims={"N": 1}, verdict=REJECTED, timing=timing(), win=True, inputs_seed="")


def test_a_rejected_confirmation_cannot_carry_a_timing() -> None:
    with pytest.raises(ValidationError):
        Confirmation(trial=0, task="t", dims={"N": 1}, verdict=REJECTED, timing=timing(), win=False, inputs_seed="")


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        FailedTrial(**COMMON, status="invalid", reason="no", timing=timing())  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Rejected(cause="crash", reason="", speedup=9.0)  # type: ignore[call-arg]


def test_a_measured_trial_needs_a_passed_verdict_and_a_timing() -> None:
    extra: dict[str, Any] = {"trust": "native", "artifact": ARTIFACT, "inputs_seed": "s"}
    with pytest.raises(ValidationError):
        MeasuredTrial(**COMMON, **extra, verdict=REJECTED, timing=timing())
    with pytest.raises(ValidationError, match="timing"):
        MeasuredTrial(**COMMON, **extra, verdict=PASSED)


@pytest.mark.parametrize("status", ["measured", "rejected", "passed", ""])
def test_a_failed_trial_is_invalid_or_build_failed_and_nothing_else(status: str) -> None:
    with pytest.raises(ValidationError):
        FailedTrial(**COMMON, status=status, reason="no")  # type: ignore[arg-type]


def test_an_unknown_cause_is_refused() -> None:
    with pytest.raises(ValidationError):
        Rejected(cause="bad luck", reason="")  # type: ignore[arg-type]


def test_an_unknown_level_of_trust_is_refused() -> None:
    with pytest.raises(ValidationError):
        MeasuredTrial(**COMMON, trust="blind", artifact=ARTIFACT, verdict=PASSED, inputs_seed="s", timing=timing())  # type: ignore[arg-type]


def test_a_record_from_before_there_were_gpus_is_still_read() -> None:
    old = dump(
        MeasuredTrial(**COMMON, trust="native", artifact=ARTIFACT, verdict=PASSED, inputs_seed="s", timing=timing())
    )
    del old["artifact"]["resources"], old["timing"]["conditions"]
    read = TRIAL.validate_python(old)
    assert isinstance(read, MeasuredTrial)
    assert (read.artifact.resources, read.timing.conditions) == ({}, {})


def test_records_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PROPOSAL.name = "other"


@pytest.mark.parametrize(
    "trial",
    [
        FailedTrial(**COMMON, status="build-failed", reason="no", log="x"),
        RejectedTrial(**COMMON, artifact=ARTIFACT, verdict=REJECTED, inputs_seed="s"),
        DuplicateTrial(**COMMON, artifact=ARTIFACT, of=0),
        MeasuredTrial(**COMMON, trust="native", artifact=ARTIFACT, verdict=PASSED, inputs_seed="s", timing=timing()),
        MeasuredTrial(
            **COMMON,
            trust="device-only",
            artifact=ARTIFACT.model_copy(update={"backend": "triton", "resources": {"registers": 40, "shared": 1024}}),
            verdict=PASSED,
            inputs_seed="s",
            timing=timing(conditions={"sm_mhz": 1980, "throttled": "none"}),
        ),
    ],
    ids=lambda t: f"{t.status} {getattr(t, 'trust', '')}",
)
def test_every_kind_of_trial_survives_the_ledgers_json(trial: Any) -> None:
    back = TRIAL.validate_json(canonical_json(dump(trial)))
    assert back == trial
    assert type(back) is type(trial)
    assert {k: type(v) for k, v in back.proposal.params.items()} == {
        "ROWS": int,
        "EXP": str,
        "FAST": bool,
        "EPS": float,
    }


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_timing_without_a_finite_speedup_cannot_be_built(value: float) -> None:
    with pytest.raises(ValidationError):
        timing(speedup=value)
