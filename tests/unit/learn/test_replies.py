"""A whole reply is read as the scientist's are, and is the same when it is read again from the store."""

from __future__ import annotations

import pytest

from kernellab.learn.replies import ReadReply, read_reply, reply_bytes, reply_text
from kernellab.propose.prompts import FormatFailure

CODE = "SPACE = {'U': [4, 8], 'V': ['a']}\nSOURCE = 'void k(float *y) {}'\n\n\ndef launch(x, y, U=4, V='a'):\n    kernel('k')(y)"
GOOD = f"<think>because</think>\n<answer>\n```python\n{CODE}\n```\n</answer>"


def test_a_reply_is_tried_at_the_first_choice_of_every_parameter() -> None:
    found = read_reply(GOOD, "c")
    assert found == ReadReply(CODE + "\n", {"U": 4, "V": "a"}, "because")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("no marker at all", "no-answer"),
        (GOOD + GOOD, "two-answers"),
        ("<answer>" + "x" * 2_000_001, "too-large"),
        ("x" * 9_000_000, "too-large"),
        (GOOD.replace("float", "\ud800"), "not-text"),
        (GOOD.replace("SOURCE", "import triton\nSOURCE"), "wrong-backend"),
        (GOOD.replace("def launch", "def lunch"), "no-launch"),
    ],
    ids=["empty", "no answer", "two answers", "2 MB", "9 MB", "no text", "other back end", "no launch"],
)
def test_what_cannot_be_read_is_a_fault_and_stays_one_in_the_store(text: str, fault: str) -> None:
    for given in (text, reply_text(reply_bytes(text))):
        found = read_reply(given, "c")
        assert isinstance(found, FormatFailure)
        assert found.fault == fault


def test_a_marker_inside_the_code_is_text() -> None:
    found = read_reply(GOOD.replace("void k", "/* </answer><answer> */ void k"), "c")
    assert isinstance(found, ReadReply)
    assert "</answer><answer>" in found.source
