from __future__ import annotations

from pathlib import Path

from kernellab.core.settings import NO_MODEL, Science
from kernellab.search.question import Question


def test_a_question_without_a_model_leaves_nothing_in_the_record() -> None:
    assert Question(NO_MODEL).data() is None
    assert Question(NO_MODEL).files() == {}


def test_what_is_recorded_of_a_question_is_enough_to_ask_it_again(tmp_path: Path) -> None:
    asked = Question(Science(model="openai:m", repairs=1), "def forward(x): return x")
    for name, data in asked.files().items():
        (tmp_path / name).write_bytes(data)
    assert Question.of(tmp_path, asked.data()) == asked
