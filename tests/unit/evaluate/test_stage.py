from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.core.errors import EnvironmentFault
from kernellab.core.ids import canonical_json
from kernellab.core.records import MeasuredTrial, Param, Passed, Rejected, Timing
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.stage import Stage
from kernellab.ledger import kinds
from kernellab.ledger.journal import read_entries
from kernellab.measurement.bench import Busy
from kernellab.measurement.rig import Rig
from kernellab.measurement.roofline import Ceilings, floor_for
from kernellab.measurement.winning import noise_floor, win_threshold
from kernellab.propose.base import Idea
from kernellab.report.audit import audit
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import step
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c
DIMS = {"N": 32768}


@pytest.fixture(scope="module")
def opened(task_file: Path, quick: Settings) -> Iterator[OpenTask]:
    with OpenTask(quick, load_task(str(task_file)), str(task_file)) as made:
        yield made


@pytest.fixture(scope="module")
def stage(opened: OpenTask) -> Iterator[Stage]:
    made = opened.stage(DIMS)
    yield made
    made.close()


def build(opened: OpenTask, stage: Stage, task_file: Path, bad: int = 0) -> Built:
    built = opened.builder.build(
        stage.task, Candidate(task_file.read_text(), "cube"), {"STEP": 1, "BAD": bad}, stage.every_shape
    )
    assert isinstance(built, Built), built
    return built


@pytest.mark.heavy
def test_a_baseline_is_paired_with_itself_as_often_as_is_asked(stage: Stage) -> None:
    pairs = stage.against_itself(3)
    assert len(pairs.first) == len(pairs.second)
    assert 1 <= len(pairs.first) + len(pairs.dropped) <= 6
    assert min(pairs.first) > 0


def test_the_calibration_names_ceilings_floor_baselines_and_noise_and_can_be_recorded(stage: Stage) -> None:
    facts = stage.calibration
    assert kinds.CALIBRATION.read(json.loads(canonical_json(kinds.CALIBRATION.plain(facts)))) == facts
    assert (facts.task, facts.dims, facts.bytes, facts.fastest) == ("cube", DIMS, 8 * 32768, "numpy")
    assert facts.floor_s > 0
    assert min(facts.ceilings.copy, facts.ceilings.read, facts.ceilings.flops) > 0
    assert facts.noise_floor >= 0
    assert len(facts.aa[0]) == len(facts.aa[1]) > 0


def test_a_right_kernel_is_verified_and_measured_against_the_fastest_baseline(
    opened: OpenTask, stage: Stage, task_file: Path
) -> None:
    built = build(opened, stage, task_file)
    assert isinstance(stage.verify(built), Passed)
    timing = stage.measure(built, 0.0, opened.settings.profile)
    assert isinstance(timing, Timing)
    assert timing.baseline == "numpy"


@pytest.mark.heavy
def test_where_memory_is_short_a_confirmation_takes_that_of_the_trials_which_go_on_behind_it(
    opened: OpenTask, task_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = opened.stage({"N": 30000})
    monkeypatch.setattr(type(stage._rig), "has_room", lambda *_: False)
    built, effort, hopeless = build(opened, stage, task_file), opened.settings.profile, stage.bench.hopeless
    before, arm = stage.ring, stage.arms["numpy"]
    for _ in range(2):
        verdict, timing, _ = stage.confirm(built, effort)
        assert isinstance(verdict, Passed)
        assert isinstance(timing, Timing | Busy)
        assert stage.arms == {}
        assert stage.nbytes < sum(r.length for r in before.inputs.regions), "the buffers of timed trials are gone"
    assert isinstance(stage.verify(built), Passed)
    assert isinstance(stage.measure(built, 0.0, effort), Timing | Busy)
    assert stage.ring is not before
    assert list(stage.arms) == ["numpy"]
    assert stage.arms["numpy"] is not arm
    assert stage.bench.hopeless == hopeless
    stage.confirm(built, effort)
    stage.close()
    stage.close()


def test_a_shape_without_a_baseline_gives_its_buffers_back(opened: OpenTask, monkeypatch: pytest.MonkeyPatch) -> None:
    rig, made = type(opened.device.rig), []
    ring = rig.ring
    monkeypatch.setattr(rig, "ring", lambda *asked: made.append(ring(*asked)) or made[-1])
    monkeypatch.setattr(rig, "start_baselines", lambda *_: {})
    with pytest.raises(EnvironmentFault, match="no baseline"):
        opened.stage({"N": 16384})
    (buffers,) = made
    assert [memory.fd for memory in (buffers.inputs, *buffers.sides)] == [-1, -1, -1]


def test_a_wrong_kernel_is_rejected_by_screening(opened: OpenTask, stage: Stage, task_file: Path) -> None:
    assert isinstance(stage.verify(build(opened, stage, task_file, bad=1)), Rejected)


@pytest.mark.heavy
def test_a_confirmation_judges_in_full_on_fresh_inputs(opened: OpenTask, stage: Stage, task_file: Path) -> None:
    built = build(opened, stage, task_file)
    effort = opened.settings.profile
    (verdict, timing, seed), (_, _, other) = stage.confirm(built, effort), stage.confirm(built, effort)
    assert isinstance(verdict, Passed)
    assert verdict.level == "full"
    assert isinstance(timing, Timing)
    assert timing.disturbed or timing.processes == [effort.confirm_pairs // effort.processes] * effort.processes
    assert timing.checked >= len(timing.candidate_s) + len(timing.dropped)
    assert len(bytes.fromhex(seed)) == 32
    assert seed != other


def test_a_wrong_kernel_is_not_confirmed(opened: OpenTask, stage: Stage, task_file: Path) -> None:
    wrong = build(opened, stage, task_file, bad=1)
    verdict, timing, _ = stage.confirm(wrong, opened.settings.profile)
    assert isinstance(verdict, Rejected)
    assert timing is None


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


def slowed(stage: Stage, by: float) -> None:
    """As if the ceilings had been taken while others had the machine."""
    now = stage.ceilings
    stage.ceilings = Ceilings(now.copy / by, now.read / by, now.flops / by)
    stage.floor = stage.bench.floor = floor_for(stage.task, stage.dims, stage.ceilings, 1)


@pytest.mark.heavy
def test_ceilings_are_measured_again_before_a_kernel_is_called_too_good(
    task_file: Path, quick: Settings, tmp_path: Path
) -> None:
    """The kernel's time is made up, half of what the floor allows: a real one would lie there by chance only."""
    task = load_task(str(task_file))
    with (
        OpenTask(quick, task, str(task_file)) as opened,
        ExperimentRun.start(opened, tmp_path / "run", [DIMS], [], "search") as run,
    ):
        stage = run.stage(DIMS)
        honest = stage.floor.seconds
        slowed(stage, 1e6)
        params: dict[str, Param] = {"STEP": 1, "BAD": 0}
        trial = step(run, stage, Idea(Candidate(task_file.read_text(), "cube"), params, "because"))
        assert isinstance(trial, MeasuredTrial)
        assert trial.timing.floor_s == stage.floor.seconds <= honest
        stage.close()
    floors = [e.body["floor_s"] for e in read_entries(tmp_path / "run") if e.kind == "calibration"]
    assert floors[0] == honest
    assert floors[-1] == trial.timing.floor_s
    assert audit(tmp_path / "run").problems == []


class Floors:
    """A rig whose ceilings follow a script: (now, best ever)."""

    def __init__(self, rig: Rig, script: list[tuple[Ceilings, Ceilings]]) -> None:
        self._rig, self.script = rig, script

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rig, name)

    def ceilings(self, nbytes: int) -> tuple[Ceilings, Ceilings]:
        return self.script.pop(0)


CALM, BUSY = Ceilings(1.0, 1.0, 1.0), Ceilings(1.0, 1.0, 1.0, disturbed=True)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("script", "asked", "found"),
    [
        ([(CALM, CALM)], 1, Rejected),
        ([(BUSY, CALM), (CALM, CALM)], 2, Rejected),
        ([(BUSY, CALM)] * 3, 3, Busy),
        ([(BUSY, BUSY)] * 3, 3, Busy),
        ([(BUSY, BUSY), (BUSY, BUSY), (CALM, CALM)], 3, Rejected),
    ],
    ids=["calm", "calm at last", "calm once", "busy", "calm in the end"],
)
def test_a_kernel_is_too_good_only_for_ceilings_that_are_measured_undisturbed(
    script: list[tuple[Ceilings, Ceilings]], asked: int, found: type, opened: OpenTask, task_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """At a byte a second every kernel is too good; what else can be said depends on how sure the ceilings are."""
    stage = opened.stage(DIMS)
    try:
        built, rig = build(opened, stage, task_file), Floors(stage._rig, list(script))
        monkeypatch.setattr(stage, "_rig", rig)
        stage.ceilings = Ceilings(1.0, 1.0, 1.0, disturbed=True)
        stage.floor = stage.bench.floor = floor_for(stage.task, stage.dims, stage.ceilings, 1)
        measured = stage.measure(built, 0.0, opened.settings.profile)
        assert isinstance(measured, (found, Busy))  # a busy machine may disturb the pairs as well
        assert len(script) - len(rig.script) == asked
    finally:
        monkeypatch.undo()
        stage.close()


TUNED = """

def in_blocks(x, y, block):
    for at in range(0, len(x), block):
        np.multiply(x[at:at + block], x[at:at + block], out=y[at:at + block])
        y[at:at + block] *= 2 * x[at:at + block]


def only_right_alone(x, y, wrong):
    y[...] = 2 * x * x * x + wrong


from dataclasses import replace
from kernellab.tasks import Tunable
TASK = replace(TASK, baselines={**TASK.baselines, "blocks": Tunable(in_blocks, {"block": (64, 8192)}),
                                "other": Tunable(only_right_alone, {"wrong": (1, 2)})})
"""


@pytest.mark.heavy
def test_a_baseline_is_tuned_over_its_knobs_and_the_fastest_setting_is_the_one_to_beat(
    task_file: Path, quick: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "tuned.py"
    path.write_text(task_file.read_text() + TUNED)
    with OpenTask(quick, load_task(str(path)), str(path), torch=False) as opened:
        stage = opened.stage(DIMS)
        try:
            facts = stage.calibration
            assert set(facts.baselines) == {"numpy", "blocks[block=64]", "blocks[block=8192]"}
            assert set(facts.failed) == {"other[wrong=1]", "other[wrong=2]"}, "each is proved by itself"
            assert facts.fastest in ("numpy", "blocks[block=8192]"), "512 slices take longer than four"
            assert canonical_json(kinds.CALIBRATION.plain(facts))
        finally:
            stage.close()
