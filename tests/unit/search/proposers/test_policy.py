"""The policy in a run: what it began with is on the record, resumed with, audited; where it knows nothing it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.captured import captured
from tests.support.planted import QUICK

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.ids import sha256_hex
from kernellab.core.settings import Settings
from kernellab.learn.prior.spaces import read_spaces
from kernellab.learn.prior.train import train
from kernellab.ledger import kinds
from kernellab.ledger.run import Run
from kernellab.report.audit import audit
from kernellab.search.prior.shipped import FILE
from kernellab.search.proposers.registry import choose
from kernellab.search.runs import resume_run, run_search
from kernellab.tasks.modules.importing import Importer

pytestmark = pytest.mark.backend_c
RECORDED = Path(__file__).parents[4] / "runs" / "lab-cpu" / "runs"
FORMULA = "formulas:487"


@pytest.fixture(scope="module")
def prior(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From recorded runs on a processor."""
    runs = [RECORDED / name for name in ("gemm-f32", "linear_gelu-f32", "masked_softmax-f32")]
    file = tmp_path_factory.mktemp("prior") / "own.npz"
    file.write_bytes(train(read_spaces(runs).spaces, QUICK).data())
    return file


@pytest.fixture(scope="module")
def formula(importer: Importer, tmp_path_factory: pytest.TempPathFactory) -> str:
    return captured(importer, FORMULA, tmp_path_factory.mktemp("formula"))


def settings(proposer: str, trials: int) -> Settings:
    return Settings(
        effort="quick", device="cpu", sample_s=0.0001, build_timeout_s=600, trials=trials, proposer=proposer
    )


def tried(folder: Path) -> list[tuple[str, str, str]]:
    return [(t.proposal.name, str(t.proposal.params), t.proposal.origin) for t in Run(folder).trials]


@pytest.mark.heavy(of="prior")
def test_a_run_begins_with_the_prior_keeps_it_and_goes_on_with_it(prior: Path, formula: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    outcome = run_search(formula, settings(f"policy:{prior}", 3), folder, proved=True)
    assert outcome.exit_code in (0, 3, 7)
    assert [origin for *_, origin in tried(folder)] == ["policy"] * 3
    assert Run(folder).genesis.files[FILE] == sha256_hex(prior.read_bytes())  # type: ignore[index]
    assert (folder / FILE).read_bytes() == prior.read_bytes()
    kept = prior.read_bytes()
    prior.unlink()  # the run does not need it any more
    try:
        resume_run(folder, extra_trials=1)
    finally:
        prior.write_bytes(kept)
    assert len({(name, params) for name, params, _ in tried(folder)}) == 4
    assert audit(folder).ok
    (folder / FILE).write_bytes(kept + b"x")
    assert any(FILE in problem for problem in audit(folder).problems)
    with pytest.raises(UsageError, match="is not the prior that this run began with"):
        resume_run(folder, extra_trials=1)


@pytest.mark.heavy(of="prior")
def test_a_task_without_a_graph_is_searched_by_the_tuner_and_that_is_noted(
    prior: Path, task_file: Path, tmp_path: Path
) -> None:
    told: list[Event] = []
    run_search(str(task_file), settings(f"policy:{prior}", 1), tmp_path / "run", [{"N": 4096}], emit=told.append)
    assert [origin for *_, origin in tried(tmp_path / "run")] == ["recipe"]
    words = "the prior knows generated candidates alone, and cube has none: the tuner searches"
    assert words in [event.text for event in told]
    assert words in [note.model_dump().get("prior") for note in Run(tmp_path / "run").records(kinds.NOTE)]


def test_what_cannot_be_used_is_refused_before_there_is_a_folder(formula: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(UsageError, match="no prior is shipped for 'cpu'"):
        run_search(formula, settings("policy", 1), folder, proved=True)
    with pytest.raises(UsageError, match="cannot be read"):
        run_search(formula, settings(f"policy:{tmp_path / 'none'}", 1), folder, proved=True)
    assert not folder.exists()


def test_its_name_may_stand_alone() -> None:
    assert choose("policy", "")[1] == ""
