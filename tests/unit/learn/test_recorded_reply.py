"""A recorded candidate becomes a reply that says exactly what was tried."""

from __future__ import annotations

import pytest
from tests.conftest import TASK_FILE

from kernellab.core.records import Param
from kernellab.learn.recorded_reply import as_reply
from kernellab.learn.replies import ReadReply, read_reply
from kernellab.propose.recipe import builtin_candidates

CODE = 'SPACE = {"U": [1, 2],\n         "V": ["a"]}\nSOURCE = "int k;"\n\n\ndef launch(x, y, U=1, V="a"):\n    pass\n'


@pytest.mark.parametrize("params", [{"U": 2, "V": "a"}, {"U": 1, "V": "a"}])
def test_the_tried_parameters_are_the_only_choices(params: dict[str, Param]) -> None:
    found = read_reply(as_reply(CODE, params, "because\nit is"), "c")
    assert isinstance(found, ReadReply)
    assert (found.params, found.think) == (params, "because it is")
    assert "[1, 2]" not in found.source


def test_a_file_without_a_space_stays_as_it_is() -> None:
    text = CODE[CODE.index("SOURCE") :]
    found = read_reply(as_reply(text, {}, ""), "c")
    assert isinstance(found, ReadReply)
    assert (found.source, found.params) == (text, {})


def test_fences_inside_the_code_stay_inside() -> None:
    found = read_reply(as_reply(f'"""Say:\n```\nhello\n```\n"""\n{CODE}', {"U": 1, "V": "a"}, ""), "c")
    assert isinstance(found, ReadReply)
    assert "```\nhello\n```" in found.source


def test_of_a_task_file_only_the_candidate_is_shown() -> None:
    shown = as_reply(TASK_FILE, {"STEP": 1, "BAD": 0}, "")
    assert "held_out" not in shown
    assert "5003" not in shown
    assert isinstance(read_reply(shown, "c"), ReadReply)


def test_what_is_no_python_is_a_reply_that_cannot_be_read() -> None:
    assert not isinstance(read_reply(as_reply("def (", {}, ""), "c"), ReadReply)


@pytest.mark.parametrize("task", ["softmax", "stencil3x3"])
def test_every_recipe_can_be_told(task: str) -> None:
    for candidate in builtin_candidates(task):
        found = read_reply(
            as_reply(candidate.text, {}, "") if "SPACE" not in candidate.text else candidate_reply(candidate.text), "c"
        )
        assert isinstance(found, ReadReply), (candidate.name, found)


def candidate_reply(text: str) -> str:
    first = read_reply(f"<answer>\n````python\n{text}\n````\n</answer>", "c")
    assert isinstance(first, ReadReply)
    return as_reply(text, first.params, "")
