"""Rows of a data set are what was recorded, failures included, and hold nothing that a task keeps back."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.support.recorded import CUBE, CUBES
from tests.support.resign import Bodies, resigned
from tests.unit.learn.conftest import Score
from tests.unit.learn.kernels import HONEST, SCREENED_ONLY, UNBUILT, WRONG

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.learn.dataset import dataset_of, split_of
from kernellab.learn.replies import ReadReply, read_reply
from kernellab.ledger.run import Run

H200 = Path(__file__).parents[3] / "runs" / "h200"


def test_every_trial_is_a_row_that_says_what_was_tried_and_what_came_of_it() -> None:
    made = dataset_of([CUBES])
    assert len(made.rows) == len(Run(CUBES).trials)
    assert made.left_out == Counter()
    assert {row["status"] for row in made.rows} >= {"measured", "rejected", "invalid"}
    for row, trial in zip(made.rows, Run(CUBES).trials, strict=True):
        found = read_reply(row["reply"], row["backend"])
        assert isinstance(found, ReadReply)
        assert found.params == dict(trial.proposal.params)
        assert (row["reward"] == 0.0) == (row["accuracy"] == 0)
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert "5003" not in json.dumps(made.rows)


def test_a_run_at_held_out_shapes_gives_no_rows_there() -> None:
    made = dataset_of([H200 / "softmax-bf16-held-out"])
    assert made.rows == []
    assert made.left_out["at a held-out shape"] == len(Run(H200 / "softmax-bf16-held-out").trials)


@pytest.mark.heavy
def test_a_published_run_is_told_whole() -> None:
    made = dataset_of([H200 / "softmax-bf16"])
    assert len(made.rows) == len(Run(H200 / "softmax-bf16").trials)
    assert {row["backend"] for row in made.rows} == {"cuda", "triton"}
    assert all(row["reward"] > 0.3 for row in made.rows if row["accuracy"] == 1 and row["reward"] is not None)


@pytest.mark.heavy
def test_a_task_at_a_shape_is_in_one_split() -> None:
    rows = dataset_of([H200 / "softmax-bf16", H200 / "stencil3x3"]).rows
    places = {(row["task"], row["shape"], row["split"]) for row in rows}
    assert len(places) == len({place[:2] for place in places})
    assert split_of("a", {"M": 1, "N": 2}) == split_of("a", {"N": 2, "M": 1})
    assert {split_of("a", {"N": n}) for n in range(50)} == {"train", "test"}


@pytest.mark.heavy
def test_samples_of_a_reward_run_are_rows_with_their_own_replies(score: Score, folder: Path) -> None:
    given = [HONEST, WRONG, UNBUILT, "nothing \ud800", SCREENED_ONLY]
    scored = score(*given)
    rows = {row["sample"]: row for row in dataset_of([folder]).rows}
    for text, one in zip(given, scored, strict=True):
        row = rows[one.id]
        assert row["reply"] == text.replace("\ud800", "?")
        assert (row["format"], row["accuracy"], row["reward"]) == (one.format, one.accuracy, one.reward)
    json.dumps(list(rows.values())).encode()


def test_a_reply_that_names_a_held_out_shape_is_left_out(score: Score, folder: Path) -> None:
    before = dataset_of([folder])
    score(HONEST.replace("FLAGS", "# not at 5003\nFLAGS"))
    after = dataset_of([folder])
    assert len(after.rows) == len(before.rows)
    assert after.left_out["names a held-out shape"] == before.left_out["names a held-out shape"] + 1


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        dataset_of([tmp_path])


def test_a_run_from_which_a_trial_was_taken_is_refused_in_words(tmp_path: Path) -> None:
    def without_the_first(entries: Bodies) -> None:
        entries.remove(next(e for e in entries if e[0] == "trial"))

    folder = resigned(CUBE, tmp_path / "run", without_the_first)
    shutil.copy(CUBE / "task.py", folder)
    with pytest.raises(LedgerFault, match="holds a record that is not well-formed"):
        dataset_of([folder])
