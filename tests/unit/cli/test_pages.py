from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernellab.cli import pages
from kernellab.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [("A=3", 3), ("A=-3", -3), ("A=0.5", 0.5), ("A=1e3", 1000.0), ("A=true", True), ("A=False", False), ("A=poly", "poly"), ("A=-O3", "-O3"),
     ("A=", ""), ("A=x=y", "x=y")],
)  # fmt: skip
def test_a_parameter_is_read_as_the_kind_of_value_it_looks_like(text: str, value: object) -> None:
    params = pages.parse_params([text])
    assert params == {"A": value}
    assert type(params["A"]) is type(value)


@pytest.mark.parametrize("text", ["A", "=3", "3=A", "a b=1", ""])
def test_what_is_no_parameter_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a parameter"):
        pages.parse_params([text])


def test_no_parameters() -> None:
    assert pages.parse_params(None) == {}


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert pages.existing(tmp_path) == tmp_path
    with pytest.raises(UsageError, match="no run folder"):
        pages.existing(tmp_path / "absent")


def test_json_is_one_line_and_refuses_what_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    pages.print_json({"a": 1, "path": Path("x"), "text": "one\ntwo"})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"a": 1, "path": "x", "text": "one\ntwo"}
    with pytest.raises(ValueError):
        pages.print_json({"a": float("nan")})


def test_not_a_number_is_not_read_as_a_parameter_value() -> None:
    """nan and inf have no JSON: such a parameter could not be recorded."""
    for text in ("A=nan", "A=inf", "A=-Infinity"):
        with pytest.raises(UsageError, match="cannot be"):
            pages.parse_params([text])
