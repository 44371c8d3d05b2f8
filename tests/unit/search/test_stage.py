from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.core.ids import canonical_json
from kernellab.core.records import MeasuredTrial, Param, Passed, Rejected, Timing
from kernellab.core.settings import Settings
from kernellab.ledger.journal import read_entries
from kernellab.measure.roofline import Ceilings, floor_for
from kernellab.propose.base import Idea
from kernellab.report.audit import audit
from kernellab.search.lab import Lab
from kernellab.search.loop import step
from kernellab.search.stage import Stage, noise_floor, win_threshold
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c
DIMS = {"N": 32768}


@pytest.fixture(scope="module")
def lab(task_file: Path, quick: Settings) -> Iterator[Lab]:
    with Lab(quick, load_task(str(task_file)), str(task_file)) as opened:
        yield opened


@pytest.fixture(scope="module")
def stage(lab: Lab) -> Iterator[Stage]:
    made = lab.stage(DIMS)
    yield made
    made.close()


def build(lab: Lab, stage: Stage, task_file: Path, bad: int = 0) -> Built:
    built = lab.builder.build(
        stage.task, Candidate(task_file.read_text(), "cube"), {"STEP": 1, "BAD": bad}, stage.every_shape
    )
    assert isinstance(built, Built), built
    return built


def test_the_calibration_names_ceilings_floor_baselines_and_noise_and_can_be_recorded(stage: Stage) -> None:
    facts = stage.calibration
    assert canonical_json(facts)
    assert (facts["task"], facts["dims"], facts["bytes"], facts["fastest"]) == ("cube", DIMS, 8 * 32768, "numpy")
    assert facts["floor_s"] > 0
    assert min(facts["ceilings"].values()) > 0
    assert facts["noise_floor"] >= 0
    assert len(facts["aa"][0]) == len(facts["aa"][1]) > 0


def test_a_right_kernel_is_verified_and_measured_against_the_fastest_baseline(
    lab: Lab, stage: Stage, task_file: Path
) -> None:
    built = build(lab, stage, task_file)
    assert isinstance(stage.verify(built), Passed)
    timing = stage.measure(built, 0.0)
    assert isinstance(timing, Timing)
    assert timing.baseline == "numpy"


def test_a_wrong_kernel_is_rejected_by_screening(lab: Lab, stage: Stage, task_file: Path) -> None:
    assert isinstance(stage.verify(build(lab, stage, task_file, bad=1)), Rejected)


def test_a_confirmation_judges_in_full_on_fresh_inputs(lab: Lab, stage: Stage, task_file: Path) -> None:
    built = build(lab, stage, task_file)
    (verdict, timing, seed), (_, _, other) = stage.confirm(built), stage.confirm(built)
    assert isinstance(verdict, Passed)
    assert verdict.level == "full"
    assert timing is not None
    assert len(timing.candidate_s) + len(timing.dropped) >= lab.settings.profile.confirm_pairs
    assert len(bytes.fromhex(seed)) == 32
    assert seed != other


def test_a_wrong_kernel_is_not_confirmed(lab: Lab, stage: Stage, task_file: Path) -> None:
    wrong = build(lab, stage, task_file, bad=1)
    verdict, timing, _ = stage.confirm(wrong)
    assert isinstance(verdict, Rejected)
    assert timing is None


def test_judging_again_on_a_recorded_seed_gives_the_same_figures(lab: Lab, stage: Stage, task_file: Path) -> None:
    built = build(lab, stage, task_file)
    assert stage.judge_again(built, bytes(range(32))) == stage.judge_again(built, bytes(range(32)))


@pytest.mark.parametrize(
    ("first", "second", "floor"), [([1.0] * 3, [1.02] * 3, 0.02), ([1.02] * 3, [1.0] * 3, 0.02), ([1.0], [1.0], 0.0)]
)
def test_the_noise_floor_is_the_distance_of_equals_from_one(
    first: list[float], second: list[float], floor: float
) -> None:
    assert noise_floor(first, second) == pytest.approx(floor)


def test_a_win_must_exceed_both_the_setting_and_the_noise() -> None:
    assert win_threshold(1.01, 0.001) == 1.01
    assert win_threshold(1.01, 0.05) == 1.05


def slowed(stage: Stage, floor_s: float) -> None:
    """As if the ceilings had been taken while others had the machine."""
    by = stage.floor.seconds / floor_s
    now = stage.ceilings
    stage.ceilings = Ceilings(now.copy * by, now.read * by, now.flops * by)
    stage.floor = stage.bench.floor = floor_for(stage.task, stage.dims, stage.ceilings, 1)
    assert stage.floor.seconds == pytest.approx(floor_s)


def test_ceilings_are_measured_again_before_a_kernel_is_called_too_good(
    task_file: Path, quick: Settings, tmp_path: Path
) -> None:
    task = load_task(str(task_file))
    with Lab(quick, task, str(task_file)) as lab:
        lab.begin(tmp_path / "run", [DIMS], [], "search")
        stage = lab.stage(DIMS)
        built = build(lab, stage, task_file)
        timing = stage.measure(built, 0.0)
        assert isinstance(timing, Timing)
        slowed(stage, 2 * timing.latency_s)
        params: dict[str, Param] = {"STEP": 1, "BAD": 0}
        trial = step(lab, stage, Idea(Candidate(task_file.read_text(), "cube"), params, "because"), built)
        assert isinstance(trial, MeasuredTrial)
        assert trial.timing.floor_s == stage.floor.seconds < trial.timing.latency_s / 0.8
        slowed(stage, 100 * timing.latency_s)
        faked = stage.measure(built, 0.0)  # so far below the floor that no busy moment explains it
        assert isinstance(faked, Rejected)
        assert faked.cause == "too-good"
        stage.close()
    floors = [e.body["floor_s"] for e in read_entries(tmp_path / "run") if e.kind == "calibration"]
    assert len(floors) == 2
    assert floors[1] == trial.timing.floor_s
    assert audit(tmp_path / "run").problems == []
