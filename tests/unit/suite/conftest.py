"""One suite that was run for all tests that read; copies are for those that change something."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.home import code_folder, settle
from tests.unit.suite.problems import KERNEL, write

from kernellab.build.base import Candidate
from kernellab.core.settings import Settings
from kernellab.suite.conduct import SuiteOutcome, SuiteRequest, run_suite
from kernellab.tasks.suites.finding import find_suite

SETTINGS = Settings(effort="quick", trials=1, device="cpu", sample_s=0.0002)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys and caches of these tests."""
    made = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settle(made, code_folder(tmp_path_factory)).items():
            patch.setenv(name, value)
        patch.setenv("KLAB_HOME", str(made / "klab"))
        yield made


@pytest.fixture(scope="session")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("problems") / "tiny", "1_scaled", "2_sorted", "4_missing", "6_again")


@pytest.fixture(scope="session")
def request_for(problems: Path) -> Callable[..., SuiteRequest]:
    def made(budget_s: float = 0.0) -> SuiteRequest:
        return SuiteRequest(SETTINGS, budget_s=budget_s, candidates={"1_scaled": [Candidate(KERNEL, "1_scaled")]})

    return made


@pytest.fixture(scope="session")
def ran(
    home: Path, problems: Path, request_for: Callable[..., SuiteRequest], tmp_path_factory: pytest.TempPathFactory
) -> SuiteOutcome:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("suites") / "ran"
    return run_suite(find_suite(path=str(problems)), request_for(), folder)


@pytest.fixture
def copied(ran: SuiteOutcome, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran.folder, tmp_path / "copy"))
