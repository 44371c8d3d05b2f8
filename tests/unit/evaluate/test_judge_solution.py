from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.captured import captured

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.core.records import Timing
from kernellab.core.settings import Settings
from kernellab.evaluate.judge_solution import SolutionJudge, all_cases, built_from, solution_text
from kernellab.evaluate.stage import Stage
from kernellab.measurement.bench import Busy
from kernellab.measurement.host_rig import HostRig
from kernellab.run.host import HostDevice
from kernellab.sandbox.tiers import open_sandbox
from kernellab.targets.base import platform
from kernellab.tasks.modules.importing import Importer

pytest.importorskip("torch")
PROBLEM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(16, 32)]
"""
HONEST = PROBLEM.replace("Model", "ModelNew")
REMEMBERS = """
import torch
SEEN = set()
class ModelNew(torch.nn.Module):
    def forward(self, x):
        key = x.numpy().tobytes()
        if key in SEEN:
            return torch.full_like(x, float("nan"))
        SEEN.add(key)
        return torch.relu(x)
"""
SETTINGS = Settings(device="cpu", effort="quick", sample_s=0.0002)


@pytest.fixture(scope="module")
def folder(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("solutions")
    (place / "problem.py").write_text(PROBLEM)
    (place / "honest.py").write_text(HONEST)
    (place / "remembers.py").write_text(REMEMBERS)
    return place


@pytest.fixture(scope="module")
def judge(folder: Path) -> Iterator[SolutionJudge]:
    with SolutionJudge(SETTINGS, f"{folder / 'problem.py'}:Model", [str(folder)]) as opened:
        yield opened


@pytest.mark.heavy
def test_every_shape_and_distribution_is_judged(judge: SolutionJudge, folder: Path) -> None:
    found = judge.judge(folder / "honest.py")
    assert (found.status, found.reason, found.trust, found.timing) == ("passed", "", "host", None)
    task = judge.task
    shapes = {str(sorted(d.items())) for d in (*task.tune, *task.edge, *task.held_out)}
    assert {str(sorted(c.dims.items())) for c in all_cases(task)} == shapes
    assert found.verdict is not None
    assert found.verdict.status == "passed"
    twice = len(task.tune) * len(task.varied)
    assert found.verdict.cases == len(shapes) * len(task.distributions) + twice > twice > 0
    assert found.data()["verdict"]["judged"]


@pytest.mark.heavy
def test_a_record_alone_is_problem_enough(judge: SolutionJudge, folder: Path) -> None:
    with SolutionJudge(SETTINGS, judge.locator, [str(folder)]) as opened:
        assert opened.judge(folder / "honest.py").status == "passed"


def test_what_turns_on_inputs_that_it_has_seen_is_rejected(judge: SolutionJudge, folder: Path) -> None:
    assert judge.judge(folder / "remembers.py").status == "rejected"


@pytest.mark.heavy
@pytest.mark.backend_c
def test_no_timed_process_sees_the_same_inputs_twice(judge: SolutionJudge, folder: Path) -> None:
    """So that answers kept by the whole value of an input, which are right ones, gain nothing."""
    setup = platform("cpu").open(SETTINGS, judge.task, True)
    with closing(setup), open_sandbox("auto", ["kernellab.run.host_job"]) as sandbox:
        device = HostDevice(sandbox, judge.problem, str(folder / "remembers.py"), 1, [0])
        rig = HostRig(setup.rig, device)
        built = built_from(REMEMBERS, all_cases(judge.task), judge.task)
        with closing(Stage(rig, judge.task, judge.locator, judge.task.tune[0])) as stage:
            assert isinstance(stage.time(built, SETTINGS.profile), Timing | Busy)


def test_a_file_that_is_not_there_or_no_text_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        solution_text(tmp_path / "none.py")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        solution_text(tmp_path / "binary.py")


def test_what_is_no_module_is_refused(own_home: None) -> None:
    with pytest.raises(UsageError, match="no PyTorch module"):
        SolutionJudge(SETTINGS, "softmax", [])


@pytest.mark.heavy
def test_a_large_constant_in_the_problems_code_is_refused_in_words(importer: Importer, folder: Path) -> None:
    text = PROBLEM.replace("def forward", "table = torch.rand(32, 32)\n    def forward").replace(
        "relu(x)", "relu(x @ self.table)"
    )
    (folder / "constant.py").write_text(text)
    with pytest.raises(TaskRefused, match="large tensor in its code"):
        SolutionJudge(SETTINGS, captured(importer, f"{folder / 'constant.py'}:Model", folder), [])


@pytest.mark.heavy
def test_what_passes_is_told_with_what_the_problem_cannot_show(importer: Importer, folder: Path) -> None:
    (folder / "far.py").write_text(PROBLEM.replace("torch.relu(x)", "(torch.tanh(x) * 3 + 1e4) - 1e4"))
    (folder / "far_new.py").write_text(HONEST.replace("torch.relu(x)", "(torch.tanh(x) * 3 + 1e4) - 1e4"))
    record = captured(importer, f"{folder / 'far.py'}:Model", folder)
    with SolutionJudge(SETTINGS, record, [str(folder)]) as opened:
        found = opened.judge(folder / "far_new.py")
    assert found.status == "passed"
    assert any("TF32 inputs" in remark for remark in found.remarks)
    assert found.data()["remarks"] == list(found.remarks)


@pytest.mark.heavy
def test_nothing_passes_where_wrong_kernels_would(importer: Importer, folder: Path) -> None:
    (folder / "nothing.py").write_text(PROBLEM.replace("torch.relu(x)", "torch.relu(torch.tanh(x) - 2)"))
    (folder / "nothing_new.py").write_text(HONEST.replace("torch.relu(x)", "torch.zeros_like(x)"))
    record = captured(importer, f"{folder / 'nothing.py'}:Model", folder)
    with SolutionJudge(SETTINGS, record, [str(folder)]) as opened:
        with pytest.raises(TaskRefused, match=r"would pass|does not depend"):
            opened.judge(folder / "nothing_new.py")
