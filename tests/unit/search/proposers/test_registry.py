"""A proposer is one file and one line; whoever proposes, a search is recorded, audited and resumed like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.search.proposers.neighbours import PROPOSER

from kernellab.core.errors import UsageError
from kernellab.core.settings import Settings
from kernellab.ledger.run import Run
from kernellab.report.audit import audit
from kernellab.search.proposers.registry import BUILT_IN, choose, forget, names, register
from kernellab.search.runs import resume_run, run_search
from kernellab.studies.mine.miner import _searched

SHAPES = [{"N": 4096}]


@pytest.fixture
def neighbours() -> Iterator[None]:
    register(PROPOSER)
    yield
    forget(PROPOSER.name)


def settings(proposer: str, trials: int = 6) -> Settings:
    return Settings(
        effort="quick",
        device="cpu",
        sample_s=0.0001,
        build_timeout_s=600,
        trials=trials,
        proposer=proposer,
        sampler="random",
    )


def tried(folder: Path) -> list[tuple[str, dict[str, object], str]]:
    return [(t.proposal.name, dict(t.proposal.params), t.proposal.origin) for t in Run(folder).trials]


def test_every_built_in_name_leads_to_a_proposer_of_that_name() -> None:
    for name in [known for known in BUILT_IN if known != "replay"]:
        assert choose(name, "openai:m" if name == "scientist" else "")[0].name == name


def test_without_a_name_a_model_means_the_scientist_and_none_the_tuner() -> None:
    assert choose("", "openai:m")[0].name == "scientist"
    assert choose("", "")[0].name == "tuner"


@pytest.mark.parametrize(
    ("wanted", "model", "words"),
    [
        ("oracle", "", "there is no proposer 'oracle'"),
        ("scientist", "", "the proposer 'scientist' needs a model"),
        ("tuner", "openai:m", "the proposer 'tuner' takes no model"),
        ("replay", "", "the proposer 'replay' needs something behind its name"),
        ("tuner:x", "", "the proposer 'tuner' takes nothing behind its name"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(wanted: str, model: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        choose(wanted, model)
    assert refused.value.fix


def test_an_unknown_name_is_refused_with_the_known_ones_before_there_is_a_folder(
    task_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        run_search(str(task_file), settings("oracle"), tmp_path / "run", SHAPES)
    assert refused.value.fix == "the known ones: tuner, recipes, replay, scientist, policy"
    assert not (tmp_path / "run").exists()


def test_a_name_that_is_taken_is_refused(neighbours: None) -> None:
    assert names()[-1] == "neighbours"
    with pytest.raises(UsageError, match="there is a proposer 'neighbours' already"):
        register(PROPOSER)


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_new_proposer_searches_is_recorded_under_its_name_and_passes_the_audit(
    neighbours: None, task_file: Path, tmp_path: Path
) -> None:
    outcome = run_search(str(task_file), settings("neighbours"), tmp_path / "run", SHAPES)
    assert outcome.exit_code in (0, 3, 7)
    changes: list[dict[str, object]] = [{}, {"STEP": 2}, {"STEP": 0}, {"STEP": 3}, {"BAD": 1}]
    wanted = [("cube", {"STEP": 1, "BAD": 0, **change}, "neighbours") for change in changes]
    assert tried(tmp_path / "run") == wanted
    assert Run(tmp_path / "run").genesis.settings.proposer == "neighbours"
    assert _searched(Run(tmp_path / "run")), "the sampler of the settings had no say"
    report = audit(tmp_path / "run")
    assert report.ok, report.problems
    resume_run(tmp_path / "run", extra_trials=1)
    assert tried(tmp_path / "run") == wanted, "it was told what had been tried"
