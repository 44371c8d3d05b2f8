from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, ValidationError

from kernellab.core.choices import OneOf

WORDS = ["red", "green"]


class Paint(BaseModel):
    colour: Annotated[str, OneOf(lambda: WORDS)] = "red"


def test_a_word_of_the_list_is_taken_and_another_is_refused_as_by_a_literal() -> None:
    assert Paint(colour="green").colour == "green"
    with pytest.raises(ValidationError, match="Input should be 'red' or 'green'"):
        Paint(colour="blue")


def test_the_list_is_read_when_a_value_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "WORDS", ["red"])
    with pytest.raises(ValidationError, match="Input should be 'red' "):
        Paint(colour="green")
    monkeypatch.setitem(globals(), "WORDS", ["red", "green", "blue"])
    assert Paint(colour="blue").colour == "blue"
    assert Paint.model_json_schema()["properties"]["colour"]["enum"] == ["red", "green", "blue"]
