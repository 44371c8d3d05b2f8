"""Requests and records of real trials, through a real sandbox; they travel as JSON and mean the same on arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Built
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.ids import sha256_hex
from kernellab.core.records import Rejected
from kernellab.core.settings import Settings
from kernellab.evaluate.evaluator import LocalEvaluator, found_twice
from kernellab.evaluate.request import Clocking, Judging, Place, TrialRecord, TrialRequest
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c
DIMS = {"N": 32768}
RACE, FIXED = Clocking(how="race"), Clocking(how="fixed")
Ask = Callable[..., TrialRequest]


@pytest.fixture(scope="module")
def ask(task_file: Path, quick: Settings) -> Ask:
    def asked(bad: int = 0, source: str = "", **fields: Any) -> TrialRequest:
        return TrialRequest(
            task=str(task_file), fingerprint=load_task(str(task_file)).on("cpu").fingerprint(),
            place=Place(device="cpu"), source=source or task_file.read_text(), name="cube",
            **{"dims": DIMS, "params": {"STEP": 1, "BAD": bad}, "effort": quick.profile, **fields},
        )  # fmt: skip

    return asked


@pytest.fixture(scope="module")
def evaluator(quick: Settings) -> Iterator[LocalEvaluator]:
    with LocalEvaluator(quick) as opened:
        yield opened


def travelled(record: TrialRecord) -> TrialRecord:
    return TrialRecord.model_validate_json(record.model_dump_json())


def test_a_request_travels_as_json_and_asks_the_same(ask: Ask) -> None:
    request = ask(judging=Judging(level="full", inputs_seed="ab" * 32), clocking=FIXED, known=("x",), deadline_s=3.0)
    assert TrialRequest.model_validate_json(request.model_dump_json()) == request


def test_a_right_kernel_is_judged_and_timed_and_its_evidence_comes_along(evaluator: LocalEvaluator, ask: Ask) -> None:
    found = evaluator.evaluate(ask(clocking=RACE))
    assert found.status in ("measured", "busy"), found.reason
    assert found.passed is not None
    assert found.artifact is not None
    assert found.calibration is not None
    assert {p.code for p in found.artifact.parts.values()} <= found.evidence.keys()
    assert all(sha256_hex(blob) == name for name, blob in found.evidence.items())
    assert travelled(found) == found


@pytest.mark.heavy
def test_without_a_clock_no_shape_is_set_up_and_the_verdict_is_all(quick: Settings, ask: Ask) -> None:
    with LocalEvaluator(quick) as evaluator:
        right, wrong = (evaluator.evaluate(ask(bad, judging=Judging(level="full"))) for bad in (0, 1))
        assert (right.status, right.timing, right.calibration) == ("passed", None, None)
        assert (wrong.status, wrong.timing, wrong.calibration) == ("rejected", None, None)
        assert wrong.rejected is not None
        assert wrong.rejected.cause == "wrong-output"
        assert not any(opened.stages for opened in evaluator._opened.values())


def test_the_same_seed_gives_the_same_verdict_and_another_one_other_inputs(evaluator: LocalEvaluator, ask: Ask) -> None:
    first, again, other = (
        evaluator.evaluate(ask(judging=Judging(inputs_seed=seed * 32))) for seed in ("01", "01", "02")
    )
    assert first.verdict == again.verdict
    assert first.inputs_seed == "01" * 32
    assert other.inputs_seed == "02" * 32


def test_one_distribution_at_the_timed_shape(evaluator: LocalEvaluator, ask: Ask) -> None:
    found = evaluator.evaluate(ask(judging=Judging(distribution="normal", inputs_seed="07" * 32)))
    assert found.passed is not None
    assert found.passed.cases == 1


def test_what_is_known_or_expected_is_part_of_the_request(evaluator: LocalEvaluator, ask: Ask) -> None:
    """Nothing that was evaluated before makes a difference, unless the request says so."""
    first = evaluator.evaluate(ask())
    assert first.artifact is not None
    assert evaluator.evaluate(ask()).status == "passed"
    again = evaluator.evaluate(ask(known=(first.artifact.id,), clocking=RACE))
    assert (again.status, again.verdict) == ("duplicate", None)
    text = ask().source.replace("-O3", "-O1")
    other = evaluator.evaluate(ask(source=text, expected=first.artifact))
    assert other.rejected is not None
    assert (other.rejected.cause, other.reason) == ("plan", "the build gave other machine code than before")
    assert evaluator.evaluate(ask(expected=first.artifact)).status == "passed"


def test_a_fixed_number_of_pairs_on_inputs_of_the_requests_own(
    evaluator: LocalEvaluator, ask: Ask, quick: Settings
) -> None:
    effort = quick.profile.model_copy(update={"confirm_pairs": 5, "processes": 1})
    judging = Judging(level="full", inputs_seed="03" * 32)
    found = evaluator.evaluate(ask(judging=judging, clocking=FIXED, effort=effort))
    assert found.inputs_seed == judging.inputs_seed
    assert found.passed is not None
    if found.timing is not None:
        assert sum(found.timing.processes) == len(found.timing.candidate_s) <= 5


def test_what_does_not_build_and_what_comes_too_late_are_told(evaluator: LocalEvaluator, ask: Ask) -> None:
    broken = evaluator.evaluate(ask(source='SOURCE = "int"\n\n\ndef launch(x, y): kernel("k")(x)\n', params={}))
    assert broken.status == "build-failed"
    assert broken.reason
    late = evaluator.evaluate(ask(params={"STEP": 3, "BAD": 0}, deadline_s=1e-6, clocking=RACE))
    assert (late.status, late.verdict) == ("out-of-time", None)
    assert late.reason == "built only after 1e-06 s"


def test_what_did_not_build_is_built_again_when_it_is_asked_for_again(evaluator: LocalEvaluator, ask: Ask) -> None:
    request = ask(source='SOURCE = "long"\n\n\ndef launch(x, y): kernel("k")(x)\n', params={})
    assert evaluator.evaluate(request).status == "build-failed"
    assert not any(request.build_key in opened.builds for opened in evaluator._opened.values())


def test_a_machine_that_stands_still_twice_is_no_verdict() -> None:
    def examine() -> Any:
        return Rejected(cause="stood-still", reason="could not be stopped"), None, ""

    with pytest.raises(EnvironmentFault, match="the machine stood still: could not be stopped"):
        found_twice(examine, lambda _: None)


@pytest.mark.parametrize(
    ("causes", "looks", "last"),
    [
        (["hidden-work", "hidden-work"], 2, "hidden-work"),
        (["hidden-work", "wrong-output"], 2, "wrong-output"),
        (["lost-worker", ""], 2, ""),
        (["stood-still", ""], 2, ""),
        (["stood-still", "wrong-output"], 2, "wrong-output"),
        (["wrong-output", ""], 1, "wrong-output"),
        (["", "hidden-work"], 1, ""),
    ],
)
def test_what_a_machine_that_stands_still_may_have_caused_is_looked_at_again(
    causes: list[str], looks: int, last: str
) -> None:
    coming, said = iter(causes), []

    def examine() -> Any:
        cause: Any = next(coming)
        return (Rejected(cause=cause, reason=f"it is {cause}") if cause else None), None, ""

    verdict, _, _ = found_twice(examine, lambda event: said.append(event.text))
    assert (verdict.cause if isinstance(verdict, Rejected) else "") == last
    assert len(causes) - len(list(coming)) == looks
    assert said == ([f"examined again: it is {causes[0]}"] if looks == 2 else [])


def test_a_race_is_not_a_confirmation(ask: Ask) -> None:
    with pytest.raises(ValueError, match="fixed number of pairs"):
        ask(judging=Judging(level="full"), clocking=RACE)


def test_answers_to_many_come_with_their_numbers(evaluator: LocalEvaluator, ask: Ask) -> None:
    requests = [ask(bad) for bad in (0, 1, 0)]
    found = dict(evaluator.answers(requests))
    assert [found[n].status for n in range(3)] == ["passed", "rejected", "passed"]


def test_a_task_that_is_another_by_now_is_refused(evaluator: LocalEvaluator, ask: Ask) -> None:
    with pytest.raises(UsageError, match="not the one that was asked for"):
        evaluator.evaluate(ask().model_copy(update={"fingerprint": "0" * 64}))


@pytest.mark.heavy
def test_shapes_are_closed_when_others_need_the_memory(quick: Settings, ask: Ask) -> None:
    with LocalEvaluator(quick, memory=0) as evaluator:
        first = evaluator.stage(ask())
        second = evaluator.stage(ask(dims={"N": 4096}))
        assert (first.closed, second.closed) == (True, False)
        assert evaluator.stage(ask(dims={"N": 4096})) is second
    with LocalEvaluator(quick) as evaluator:
        first, second = evaluator.stage(ask()), evaluator.stage(ask(dims={"N": 4096}))
        assert not first.closed
        assert evaluator.stage(ask()) is first
    assert first.closed
    assert second.closed


@pytest.mark.heavy
def test_a_shape_that_breaks_is_set_up_anew_once(quick: Settings, ask: Ask) -> None:
    with LocalEvaluator(quick) as evaluator:
        stage = evaluator.stage(ask())
        stage.arms[stage.baseline].worker.end()  # as if somebody had ended the baseline's process
        found = evaluator.evaluate(ask(clocking=RACE))
        assert found.status in ("measured", "busy")
        assert stage.closed
        assert evaluator.stage(ask()) is not stage


def test_a_device_that_is_not_here_is_a_fault_of_the_environment(quick: Settings, ask: Ask) -> None:
    elsewhere = ask().model_copy(update={"place": Place(device="cpu", target="no-such-processor")})
    with LocalEvaluator(quick) as evaluator, pytest.raises((EnvironmentFault, UsageError)):
        evaluator.evaluate(elsewhere)


def test_one_case_at_a_shape_is_built_at_that_shape_alone_and_not_again_where_its_trial_was_built(
    evaluator: LocalEvaluator, ask: Ask
) -> None:
    look = Judging(distribution="normal")
    alone = evaluator.build(ask(source=ask().source + "# alone\n", judging=look))
    assert isinstance(alone, Built)
    assert [part.dims for part in alone.parts] == [DIMS]
    trial = evaluator.build(ask(source=ask().source + "# trial\n"))
    assert isinstance(trial, Built)
    assert len(trial.parts) > 1
    assert evaluator.build(ask(source=ask().source + "# trial\n", judging=look)) is trial
    assert evaluator.build(ask(source=ask().source + "# alone\n")) is not alone
