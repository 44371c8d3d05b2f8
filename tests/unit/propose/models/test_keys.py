from __future__ import annotations

import pickle

import pytest

from kernellab.core.errors import UsageError
from kernellab.propose.models.keys import Key, Scrubber, read_key

SECRET = "sk-secret-123456"


def test_a_key_shows_only_where_it_comes_from() -> None:
    key = Key("OPENAI_API_KEY", SECRET)
    assert SECRET not in f"{key} {key!r}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_keys_are_taken_out_of_texts_and_found_in_them() -> None:
    scrub = Scrubber.of_environment(
        {"OPENAI_API_KEY": SECRET + "\n", "ANTHROPIC_API_KEY": "none", "OTHER": "visible-text"}
    )
    assert scrub(f"a {SECRET} none visible-text") == "a [OPENAI_API_KEY] none visible-text"
    assert scrub.found(f"x{SECRET}y") == "OPENAI_API_KEY"
    assert scrub.found("nothing here") is None
    assert scrub("lone \ud800") == "lone ?"


def test_the_first_variable_that_is_set_is_read() -> None:
    assert read_key(("A", "B"), True, {"B": f" {SECRET}\n"}) == Key("B", SECRET)
    assert read_key(("A", "B"), True, {"A": "1", "B": "2"}).value == "1"


def test_a_missing_key_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        read_key(("OPENAI_API_KEY",), True, {"OPENAI_API_KEY": "  "})
    assert "export OPENAI_API_KEY=" in caught.value.fix
    assert read_key(("OPENAI_API_KEY",), False, {}).value


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "schlüssel", "bell\x07"])
def test_what_cannot_be_a_key_is_an_error_that_does_not_show_it(value: str) -> None:
    with pytest.raises(UsageError, match="KLAB_MODEL_KEY") as caught:
        read_key(("KLAB_MODEL_KEY",), True, {"KLAB_MODEL_KEY": value})
    assert value not in str(caught.value) + caught.value.fix
