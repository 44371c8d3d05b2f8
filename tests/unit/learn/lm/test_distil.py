"""A generalist made of two specialists, with the real libraries: bases taught, trained, distilled, and told of."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.resign import Bodies, resigned
from tests.support.rewards import JudgedRun, judged_run, retold
from typer.testing import CliRunner

from kernellab.cli.learn import learn
from kernellab.core.errors import EnvironmentFault, LedgerFault, UsageError
from kernellab.learn import RewardService
from kernellab.learn.lm.distil import CORPUS
from kernellab.learn.lm.reinforce import Reinforcement, reinforce
from kernellab.learn.lm.trained import RECORD, parent_of
from kernellab.ledger.run import Run

pytestmark = [pytest.mark.backend_c, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    return judged_run(tmp_path_factory)


@pytest.fixture(scope="module")
def specialists(
    service: RewardService,
    small_model: Path,
    run: JudgedRun,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Path]:
    """One that was trained by a step. Its words make no sense, so its ledger is exchanged for one of rewarded replies, and
    a second is made of it that wrote others."""
    place = tmp_path_factory.mktemp("specialists")
    settings = Reinforcement(steps=1, prompts=1, group=2, longest=8, save_every=1)
    made = reinforce(small_model, service, place / "cubes", settings)
    assert made.facts["settings"]["rewards_run"] == Run(service.folder).first.run
    source, ids = run.folder, run.ids
    cubes, squares = (
        retold(source, place / f"rewards-{name}", {f"new-{n}": ids[n] for n in names})
        for name, names in (("cubes", ("honest", "also", "wrong")), ("squares", ("squared", "unbuilt")))
    )
    shutil.copytree(made.folder, place / "squares")
    for folder, ledger in ((place / "cubes", cubes), (place / "squares", squares)):
        _rewrite(folder, rewards=str(ledger), rewards_run=Run(ledger).first.run)
    return [place / "cubes", place / "squares"]


def _rewrite(folder: Path, **settings: Any) -> None:
    facts = json.loads((folder / RECORD).read_text())
    facts["settings"].update(settings)
    (folder / RECORD).write_text(json.dumps(facts))


def _distil(*arguments: object) -> dict[str, Any]:
    more = ("--batch", 1, "--rate", 0.01, "--json")
    done = CliRunner().invoke(learn, ["distil", *map(str, (*arguments, *more))], catch_exceptions=False)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def generalist(specialists: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return _distil(*specialists, "--out", tmp_path_factory.mktemp("distilled") / "model", "--steps", 3)


def test_one_model_is_taught_what_both_were_rewarded_for_and_says_so(
    generalist: dict[str, Any], specialists: list[Path], small_model: Path
) -> None:
    assert (generalist["kind"], generalist["steps"], generalist["from"]) == ("distil", 3, str(small_model))
    losses = [row["loss"] for row in generalist["curve"]]
    assert losses[-1] < losses[0]
    told = generalist["settings"]
    assert (told["lessons"], told["rows"], told["most"]) == (3, 4, 4)
    assert [one["record"] for one in told["specialists"]] == [parent_of(folder) for folder in specialists]
    assert [(one["lessons"], one["rows"]) for one in told["specialists"]] == [(2, 2), (1, 2)]
    for one, name in zip(told["specialists"], ("cubes", "squares"), strict=True):
        (ledger,) = one["ledgers"]
        assert ledger["root"] == Run(Path(ledger["folder"])).root
        assert Path(ledger["folder"]).name == f"rewards-{name}"
        assert ledger["left_out"] == {"not right, or not readable": 1}


def test_a_distillation_that_was_stopped_goes_on_with_the_same_lessons_or_not_at_all(
    generalist: dict[str, Any], specialists: list[Path], tmp_path: Path
) -> None:
    out = shutil.copytree(generalist["folder"], tmp_path / "model")
    (out / RECORD).unlink()  # killed before the record was written
    gone_on = _distil(*specialists, "--out", out, "--steps", 4)
    assert [row["step"] for row in gone_on["curve"]] == [1, 2, 3, 4]
    assert [row["loss"] for row in gone_on["curve"]][:3] == [row["loss"] for row in generalist["curve"]]
    with pytest.raises(UsageError, match="was begun with other lessons"):
        _distil(specialists[0], "--out", out)
    (out / CORPUS).write_text("{")
    with pytest.raises(UsageError, match="was begun with other lessons"):
        _distil(*specialists, "--out", out)
    (out / CORPUS).unlink()
    with pytest.raises(UsageError, match="holds another training"):
        _distil(*specialists, "--out", out)


def test_a_specialist_that_was_never_rewarded_is_told(run: JudgedRun, specialists: list[Path], tmp_path: Path) -> None:
    source, ids = run.folder, run.ids
    ledger = retold(source, tmp_path / "rewards", {"new": ids["wrong"]})
    poor = shutil.copytree(specialists[0], tmp_path / "poor")
    _rewrite(poor, rewards=str(ledger), rewards_run=Run(ledger).first.run)
    with pytest.raises(UsageError, match=r"poor wrote nothing that was rewarded .*: 1 not right, or not readable"):
        _distil(poor, specialists[1], "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_ledger_that_fails_its_audit_teaches_nothing(specialists: list[Path], tmp_path: Path) -> None:
    facts = json.loads((specialists[0] / RECORD).read_text())

    def richer(entries: Bodies) -> None:
        next(body for kind, body in entries if kind == "reward" and body["reward"])["reward"] = 99.0

    ledger = resigned(Path(facts["settings"]["rewards"]), tmp_path / "rewards", richer)
    liar = shutil.copytree(specialists[0], tmp_path / "liar")
    _rewrite(liar, rewards=str(ledger), rewards_run=Run(ledger).first.run)
    with pytest.raises(LedgerFault, match=r"does not pass the audit: .*reward of sample new-honest is 99.0"):
        _distil(liar, specialists[1], "--out", tmp_path / "model")


def test_what_stands_in_the_way_is_told_before_anything_is_trained(
    specialists: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="every rewarded reply is longer than 64 tokens"):
        _distil(*specialists, "--out", tmp_path / "model", "--longest", 64)
    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(EnvironmentFault, match="needs trl"):
        _distil(*specialists, "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_the_stages_are_told_with_what_was_judged(
    generalist: dict[str, Any], specialists: list[Path], small_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "page.md"
    given = [generalist["folder"], *specialists, small_model, "--out", out, "--json"]
    done = CliRunner().invoke(learn, ["report", *map(str, given)], catch_exceptions=False)
    said = json.loads(done.stdout)
    assert [stage["stage"] for stage in said["stages"]] == ["base", "specialist", "specialist", "distilled"]
    assert [stage["judged"] and stage["judged"]["whole"]["samples"] for stage in said["stages"]] == [None, 3, 2, None]
    assert said["stages"][3]["lessons"] == 3
    judged = [stage["judged"]["root"] for stage in said["stages"][1:3]]
    assert [source["root"] for source in said["stages"][3]["sources"]] == judged
    assert "![mean reward by samples judged](page.svg)" in out.read_text()
    assert (tmp_path / "page.svg").read_text().startswith("<svg")
