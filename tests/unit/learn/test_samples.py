"""What comes from outside is read in words, whatever it is."""

from __future__ import annotations

import pytest

from kernellab.core.errors import UsageError
from kernellab.learn.samples import Sample, Scored, read_samples


def test_plain_data_becomes_samples() -> None:
    given = [{"id": "1", "reply": "text"}, {"id": "2", "reply": "", "task": "cube", "shape": "N=4"}]
    assert read_samples(given) == [Sample("1", "text"), Sample("2", "", "cube", "N=4")]
    assert read_samples([]) == []


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("text", "samples are a list"),
        ({"id": "1"}, "samples are a list"),
        (None, "samples are a list"),
        (["text"], "sample 0 is no object"),
        ([{"id": "1", "reply": "", "speed": 1}], "sample 0 has a field 'speed' that is not known"),
        ([{"id": "1", "reply": ""}, {"id": 2, "reply": ""}], "sample 1: its id is no text"),
        ([{"id": "1", "reply": ["a"]}], "sample 0: its reply is no text"),
        ([{"reply": "a"}], "sample 0 has no usable id"),
        ([{"id": "a\nb", "reply": "a"}], "sample 0 has no usable id"),
        ([{"id": "\ud800", "reply": "a"}], "sample 0 has no usable id"),
        ([{"id": "x" * 201, "reply": "a"}], "sample 0 has no usable id"),
        ([{"id": "1", "reply": ""}] * 4, "a batch of 4 samples is too large: 3 are taken"),
    ],
)
def test_what_is_no_batch_is_told(given: object, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_samples(given, most=3)
    assert what in caught.value.what
    assert caught.value.fix


def test_a_scored_sample_is_plain_data() -> None:
    scored = Scored("1", "cube", "N=4", 1, 1, 2.0, 1.9, "")
    assert scored.data()["reward"] == 1.9
