"""What may be made one: specialists of one base, each with ledgers of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.recorded import CUBE, CUBES
from tests.support.resign import Bodies, resigned
from tests.support.rewards import exam_of, trained, trained_on, untrained

from kernellab.core.errors import UsageError
from kernellab.learn.lm.specialists import base_of, read_specialists
from kernellab.learn.lm.trained import parent_of


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return untrained(tmp_path / "base")


@pytest.fixture
def one(base: Path, tmp_path: Path) -> Path:
    return trained_on(tmp_path / "one", base, CUBE)


@pytest.fixture
def other(base: Path, tmp_path: Path) -> Path:
    return trained_on(tmp_path / "other", base, CUBES)


def test_each_specialist_has_the_ledger_that_its_record_names(one: Path, other: Path) -> None:
    found = read_specialists([one, other])
    assert [(s.folder, s.ledgers) for s in found] == [(one, (CUBE,)), (other, (CUBES,))]


def test_a_ledger_that_was_moved_and_one_of_an_exam_are_given(one: Path, other: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(CUBE, tmp_path / "moved")
    body = json.loads((one / "training.json").read_text())
    (one / "training.json").write_text(
        json.dumps({**body, "settings": {**body["settings"], "rewards": str(tmp_path / "gone")}})
    )
    with pytest.raises(UsageError, match=r"the rewards of .*one are not at .*gone") as caught:
        read_specialists([one, other])
    assert "--rewards" in caught.value.fix
    exam = resigned(CUBE, tmp_path / "exam", lambda entries: entries.append(("reward-exam", exam_of(parent_of(other)))))
    found = read_specialists([one, other], [moved, exam])
    assert [s.ledgers for s in found] == [(moved,), (CUBES, exam)]


def test_a_ledger_of_nobody_here_is_refused(one: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no replies of these specialists"):
        read_specialists([one], [CUBES])
    with pytest.raises(UsageError, match="holds no ledger"):
        read_specialists([one], [tmp_path])


def _stopped(folder: Path) -> None:
    (folder / "training.json").unlink()
    (folder / "checkpoint-30").mkdir()
    (folder / "checkpoint-30" / "trainer_state.json").write_text("{}")


def _record(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "training.json").write_text(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "training.json").unlink(), "is no specialist: it holds no record of a training"),
        (shutil.rmtree, "is no specialist: it holds no record of a training"),
        (_stopped, "is no specialist yet: its training was stopped at step 30"),
        (_record("{"), "is no record of a training"),
        (_record("[]"), "is no record of a training"),
        (_record('{"kind": "grpo"}'), "is no record of a training: from: Field required"),
        (_record('{"kind": "grpo", "curve": [{"loss": NaN}]}'), "is no record of a training"),
    ],
)
def test_what_is_no_specialist_is_told(one: Path, change: Callable[[Path], object], words: str) -> None:
    change(one)
    with pytest.raises(UsageError, match=words):
        read_specialists([one])


def test_a_model_that_no_reward_trained_is_none(base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="was made by sft, on no rewards"):
        read_specialists([trained(tmp_path / "taught", base, "sft")])


def test_the_same_specialist_counts_once(one: Path, other: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one is given twice"):
        read_specialists([one, other, one])
    with pytest.raises(UsageError, match="are the same specialist"):
        read_specialists([one, shutil.copytree(one, tmp_path / "copy")])


def test_specialists_of_different_bases_are_refused_by_name(one: Path, tmp_path: Path) -> None:
    stranger = trained_on(tmp_path / "stranger", untrained(tmp_path / "else", b"two"), CUBES)
    with pytest.raises(UsageError, match=r"have different bases: .*base and .*else"):
        read_specialists([one, stranger])


def test_one_ledger_cannot_tell_two_specialists_apart(one: Path, base: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not tell their replies apart"):
        read_specialists([one, trained_on(tmp_path / "twin", base, CUBE)])


def test_the_base_is_known_by_its_weights_wherever_it_lies(one: Path, base: Path, tmp_path: Path) -> None:
    found = read_specialists([one])
    assert base_of(found, None) == base
    moved = base.rename(tmp_path / "moved")
    assert base_of(found, moved) == moved
    with pytest.raises(UsageError, match=r"came from is not at .*base") as caught:
        base_of(found, None)
    assert "--from" in caught.value.fix
    with pytest.raises(UsageError, match="its weights differ"):
        base_of(found, one)
    with pytest.raises(UsageError, match="holds no model"):
        base_of(found, tmp_path)


def test_a_ledger_that_lies_there_now_is_not_taken_for_the_one_that_did(one: Path, tmp_path: Path) -> None:
    def nothing(entries: Bodies) -> None:
        pass

    body = json.loads((one / "training.json").read_text())
    another = resigned(CUBE, tmp_path / "another", nothing)
    body["settings"]["rewards"] = str(another)
    (one / "training.json").write_text(json.dumps(body))
    with pytest.raises(UsageError, match=r"the rewards of .*one are not at .*another"):
        read_specialists([one])
