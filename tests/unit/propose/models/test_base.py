from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from kernellab.core.ids import sha256_hex
from kernellab.propose.models import ModelFault, Request, Usage

from .conftest import ask


def test_a_request_is_named_by_its_canonical_json_without_the_ordinal() -> None:
    request = ask(temperature=1)
    assert request.digest == sha256_hex(request.canonical) == ask(temperature=1.0, call=9).digest
    assert "call" not in json.loads(request.canonical)
    assert Request.model_validate({**json.loads(request.canonical), "call": 9}).digest == request.digest


@pytest.mark.parametrize(
    "change",
    [{"model": "n"}, {"system": "s"}, {"max_tokens": 99}, {"temperature": 0.1}, {"seed": 1}, {"stop": ["x"]}],
)
def test_every_part_of_a_request_is_part_of_its_name(change: dict[str, object]) -> None:
    assert ask(**change).digest != ask().digest


@pytest.mark.parametrize(
    "change",
    [{"model": ""}, {"messages": []}, {"max_tokens": 0}, {"temperature": -1}, {"temperature": float("nan")}, {"stop": [""]},
     {"call": -1}, {"key": "x"}, {"system": "\ud800"}],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_not_built(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ask(**change)


def test_usage_adds_up_and_leaves_the_unknown_unknown() -> None:
    one, other = Usage(tokens_in=3), Usage(tokens_in=4, tokens_out=5)
    assert one.plus(other) == Usage(tokens_in=7, tokens_out=5)
    assert (one.reported, other.reported) == (False, True)


def test_a_fault_survives_its_note() -> None:
    fault = ModelFault("cut-stream", "it broke off", "try later", retryable=True)
    again = fault.note.fault()
    assert (again.kind, again.reason, again.fix, again.retryable) == ("cut-stream", "it broke off", "try later", True)
    assert not fault.stops
    assert ModelFault("wrong-key", "no").stops
