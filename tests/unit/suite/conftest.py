"""One suite that was run for all tests that read; copies are for those that change something."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.home import code_folder, settle
from tests.support.once import once
from tests.unit.suite.problems import KERNEL, write

from kernellab.build.base import Candidate
from kernellab.core.settings import Settings
from kernellab.ledger.keys import load_or_create_key
from kernellab.suite.conduct import SuiteOutcome, SuiteRequest, resume_suite, run_suite
from kernellab.suite.worker import Worker
from kernellab.tasks.suites.finding import find_suite

SETTINGS = Settings(effort="quick", trials=1, device="cpu", sample_s=0.0002)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys and caches of these tests. All workers of the session sign with one key: they share the suite that was run."""
    made = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settle(made, code_folder(tmp_path_factory)).items():
            patch.setenv(name, value)
        patch.setenv("KLAB_HOME", str(once(tmp_path_factory, "suite-klab", _with_key)))
        yield made


def _with_key(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KLAB_HOME", str(folder))
        load_or_create_key()


@pytest.fixture(scope="session")
def worker(home: Path) -> Iterator[Worker]:
    """One for all checks: torch is imported in it and in its capture sandbox, which takes ten seconds of a processor."""
    pytest.importorskip("torch")
    with Worker({"folders": []}) as opened:
        yield opened


@pytest.fixture(scope="session")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        write(folder / "tiny", "1_scaled", "2_sorted", "4_missing", "6_again")

    return once(tmp_path_factory, "suite-problems", make) / "tiny"


@pytest.fixture(scope="session")
def request_for(problems: Path) -> Callable[..., SuiteRequest]:
    def made(budget_s: float = 0.0) -> SuiteRequest:
        return SuiteRequest(SETTINGS, budget_s=budget_s, candidates={"1_scaled": [Candidate(KERNEL, "1_scaled")]})

    return made


@pytest.fixture(scope="session")
def ran(
    home: Path, problems: Path, request_for: Callable[..., SuiteRequest], tmp_path_factory: pytest.TempPathFactory
) -> SuiteOutcome:
    """Run by the first worker that asks, and read by all."""
    pytest.importorskip("torch")

    def make(folder: Path) -> None:
        run_suite(find_suite(path=str(problems)), request_for(), folder / "ran")

    return resume_suite(once(tmp_path_factory, "suite-ran", make) / "ran")


@pytest.fixture
def copied(ran: SuiteOutcome, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran.folder, tmp_path / "copy"))
