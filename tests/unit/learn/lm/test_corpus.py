"""Which rows of a data set teach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import UsageError
from kernellab.learn.lm.corpus import lessons

ROW: dict[str, Any] = {
    "prompt": [{"role": "user", "content": "write"}], "reply": "this", "task": "cube", "shape": "N=4", "split": "train",
    "accuracy": 1, "reward": None, "feedback": "",
}  # fmt: skip


def _file(folder: Path, *rows: Any) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_right_replies_of_the_training_part_teach_each_once(tmp_path: Path) -> None:
    wrong, test, untried = ({**ROW, "reply": r, **more} for r, more in (
        ("wrong", {"accuracy": 0}), ("kept", {"split": "test"}), ("no", {"accuracy": None})))  # fmt: skip
    other = {**ROW, "shape": "N=8"}
    found = lessons(_file(tmp_path, ROW, wrong, test, untried, ROW, other))
    assert [(lesson.reply, lesson.shape) for lesson in found] == [("this", "N=4"), ("this", "N=8")]
    assert found[0].prompt == ROW["prompt"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "line 1 is no row of a data set"),
        ({**ROW, "split": "both"}, "split"),
        ({**ROW, "prompt": "write"}, "prompt"),
        ({k: v for k, v in ROW.items() if k != "reply"}, "reply: Field required"),
        ({**ROW, "accuracy": 0}, "no right reply in its training part"),
    ],
)
def test_what_is_no_data_set_is_told(tmp_path: Path, row: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        lessons(_file(tmp_path, row))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        lessons(tmp_path / "none.jsonl")
