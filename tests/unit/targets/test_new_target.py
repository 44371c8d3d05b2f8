"""A target that is registered by one call runs through the whole chain, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.records import MeasuredTrial, UntimedTrial
from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of, devices, forget, home_of, register, targets
from kernellab.ledger.run import Run
from kernellab.report.audit import audit
from kernellab.search.outcome import Outcome
from kernellab.search.replay import read_trials
from kernellab.search.runs import try_candidate
from kernellab.targets.base import platform

from .arithmetic import TARGET

TASK = """
import numpy as np
from kernellab.tasks.inputs import STANDARD
from kernellab.tasks.spec import Buffer, Task

def triple(x):
    return 3 * x

TASK = Task(
    name="triple", about="y = 3 x", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=triple,
    tune=({"N": 65536},), held_out=({"N": 5003},), edge=({"N": 1}, {"N": 1025}), distributions=STANDARD,
)
"""
RIGHT, WRONG, REFUSED = "arithmetic: y = x + 2 * x", "arithmetic: y = x + x", "arithmetic: y = open(x)"


@pytest.fixture
def toy() -> Iterator[None]:
    register(TARGET)
    yield
    forget(TARGET.name)


def tried(text: str, folder: Path) -> Outcome:
    (folder / "triple.py").write_text(TASK)
    settings = Settings(effort="quick", cache=False)
    return try_candidate(str(folder / "triple.py"), Candidate(text, "mine"), settings, folder / "run")


def test_a_registered_target_is_known_by_its_text_and_gone_when_forgotten(toy: None) -> None:
    assert (backend_of(RIGHT), home_of("arithmetic"), devices()[-1]) == ("arithmetic", "toy", "toy")
    assert Settings(device="toy").device == "toy"
    assert platform("toy").present()
    with pytest.raises(UsageError, match="there is a target 'toy-arithmetic' already"):
        register(TARGET)
    forget(TARGET.name)
    assert backend_of(RIGHT) == "c"
    assert [t.name for t in targets()] == ["cpu-c", "cuda-triton", "cuda-cpp"]
    with pytest.raises(ValueError, match="Input should be 'auto', 'cpu' or 'cuda'"):
        Settings(device="toy")


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_kernel_of_a_new_target_is_built_judged_timed_and_recorded(toy: None, own_home: None, tmp_path: Path) -> None:
    outcome = tried(RIGHT, tmp_path)
    assert outcome.trust == "native"
    assert outcome.status != "nothing-verified"
    (trial,) = read_trials(outcome.folder)
    assert isinstance(trial, (MeasuredTrial, UntimedTrial))
    assert trial.artifact.backend == "arithmetic"
    assert isinstance(trial, UntimedTrial) or trial.timing.latency_s > 0
    begun = Run(outcome.folder).genesis
    assert begun.settings.device == "toy"
    assert begun.environment.compiler.startswith("arithmetic by ")
    assert audit(outcome.folder).problems == []


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.backend_c
@pytest.mark.parametrize(("text", "status"), [(WRONG, "rejected"), (REFUSED, "build-failed")])
def test_a_kernel_of_a_new_target_is_refused_like_any_other(
    text: str, status: str, toy: None, own_home: None, tmp_path: Path
) -> None:
    outcome = tried(text, tmp_path)
    assert outcome.status == "nothing-verified"
    assert [t.status for t in read_trials(outcome.folder)] == [status]
