"""A language model taught, trained on the judge's rewards and examined, with the real libraries and the real judge."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.learn.kernels import HONEST, WRONG

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.learn import RewardService
from kernellab.learn.extra import needed
from kernellab.learn.lm.examine import Exam, exam_records, examine, result_of
from kernellab.learn.lm.model import open_model, weights_of
from kernellab.learn.lm.reinforce import Reinforcement, reinforce
from kernellab.learn.lm.teach import Teaching, teach
from kernellab.learn.lm.trained import RECORD, checkpoint_in, parent_of
from kernellab.ledger.reward_records import REWARD, REWARD_EXAM
from kernellab.ledger.run import Run
from kernellab.report.audit import audit

pytestmark = [pytest.mark.backend_c, pytest.mark.slow]


@pytest.fixture(scope="module")
def data(service: RewardService, tmp_path_factory: pytest.TempPathFactory) -> Path:
    prompt = service.prompts()[0]["prompt"]
    path = tmp_path_factory.mktemp("data") / "data.jsonl"

    def row(reply: str, accuracy: int, split: str) -> dict[str, Any]:
        return {"prompt": prompt, "reply": reply, "accuracy": accuracy, "split": split, "task": "cube", "shape": "N=4"}

    rows = [row(HONEST, 1, "train"), row(HONEST, 1, "train"), row(WRONG, 0, "train"), row(HONEST + " ", 1, "test")]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


@pytest.fixture(scope="module")
def taught(small_model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("taught") / "model"
    teach(small_model, data, out, Teaching(steps=4, batch=1, rate=0.01, save_every=2))
    return out


def test_a_model_is_taught_right_replies_alone_and_says_how(taught: Path, small_model: Path) -> None:
    facts = json.loads((taught / RECORD).read_text())
    assert (facts["kind"], facts["steps"], facts["parent"]) == ("sft", 4, "")
    assert (facts["settings"]["lessons"], facts["settings"]["left_out"]) == (1, 0)
    losses = [row["loss"] for row in facts["curve"]]
    assert len(losses) == 4
    assert losses[-1] < losses[0]
    assert facts["from"] == str(small_model)


def test_a_training_that_was_stopped_goes_on(taught: Path, small_model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    teach(small_model, data, out, Teaching(steps=2, batch=1, rate=0.01, save_every=2))
    assert str(checkpoint_in(out)).endswith("checkpoint-2")
    gone_on = teach(small_model, data, out, Teaching(steps=4, batch=1, rate=0.01, save_every=2))
    whole = json.loads((taught / RECORD).read_text())
    assert [row["step"] for row in gone_on.facts["curve"]] == [1, 2, 3, 4]
    assert [row["loss"] for row in gone_on.facts["curve"]] == pytest.approx(
        [r["loss"] for r in whole["curve"]], rel=1e-3
    )


def test_lessons_that_are_too_long_are_left_out_and_never_cut(small_model: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="longer than 64 tokens"):
        teach(small_model, data, tmp_path / "model", Teaching(steps=1, longest=64))


def test_replies_of_a_training_are_samples_of_the_ledger(
    taught: Path, service: RewardService, folder: Path, tmp_path: Path
) -> None:
    before = len(Run(folder).records(REWARD))
    settings = Reinforcement(steps=1, prompts=1, group=2, longest=8, save_every=1)
    trained = reinforce(taught, service, tmp_path / "model", settings)
    given = Run(folder).records(REWARD)[before:]
    assert [(record.format, record.reward) for record in given] == [(0, 0.0)] * 2, "eight tokens are no kernel"
    assert trained.facts["parent"] == parent_of(taught) != ""
    assert (trained.facts["kind"], trained.facts["steps"]) == ("grpo", 1)
    assert trained.facts["settings"]["rewards"] == str(folder)
    assert audit(folder).ok
    with pytest.raises(UsageError, match="a group of one"):
        reinforce(taught, service, tmp_path / "other", Reinforcement(group=1))


def test_an_exam_is_what_the_ledger_says_and_asks_nobody_twice(
    taught: Path, service: RewardService, folder: Path
) -> None:
    said: list[str] = []
    opened = open_model(taught)
    found = examine(opened, service, Exam(count=2, longest=8), said.append)
    places = len(service.prompts())
    assert (found.samples, found.places, found.masked) == (2 * places, places, 0)
    assert (found.right.value, found.readable.value) == (0.0, 0.0)
    assert found.reward is not None
    assert found.reward.value == 0.0
    assert len(said) == places
    assert (
        examine(opened, service, Exam(count=2, longest=8), said.append) == found == result_of(exam_records(Run(folder)))
    )
    assert len(said) == places


def test_an_exam_names_its_model_and_is_not_gone_on_with_by_another(
    taught: Path, small_model: Path, service: RewardService, folder: Path, tmp_path: Path
) -> None:
    moved = shutil.copytree(taught, tmp_path / "moved")
    examine(open_model(moved), service, Exam(count=2, longest=8), lambda _: None)
    (exam,) = Run(folder).records(REWARD_EXAM)
    assert (exam.model, exam.record, exam.weights) == ("model", parent_of(taught), weights_of(taught))
    for other, settings in ((small_model, Exam(count=2, longest=8)), (taught, Exam(count=3, longest=8))):
        with pytest.raises(UsageError, match="holds another exam, of model"):
            examine(open_model(other), service, settings, lambda _: None)


def test_the_same_seed_gives_the_same_replies(taught: Path) -> None:
    opened = open_model(taught)
    one, other, third = (opened.replies("launch", 2, 6, 1.0, seed) for seed in (1, 1, 2))
    assert one == other != third
    assert len(one) == 2


def test_what_is_no_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="holds no model"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be opened as a language model"):
        open_model(tmp_path)
    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(EnvironmentFault, match="needs trl") as caught:
        needed("trl")
    assert "kernellab[learn]" in caught.value.fix
