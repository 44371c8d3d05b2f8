"""Bad input of tune-verifier: each a clear error before anything is made or asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.cli.tune_verifier import score_lines, tune_verifier
from kernellab.core.errors import UsageError

LABELLED = Path(__file__).resolve().parents[3] / "runs" / "labelled"
NOBODY = "openai:m@http://127.0.0.1:9/v1"


def call(out: Path, **given: Any) -> None:
    asked: dict[str, Any] = {
        "labelled": None, "model": "", "kind": "soft_numerics", "rounds": 1, "most": 8, "seed": 0, "jobs": 1, "templates": None,
        "budget_usd": None, "budget_tokens": None, "budget_calls": None, "budget_seconds": None, "resume": None, "report": None,
    }  # fmt: skip
    tune_verifier(**{**asked, **given}, out=out, as_json=True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "one of them"),
        ({"labelled": LABELLED, "report": LABELLED}, "one of them"),
        ({"labelled": LABELLED}, "which model"),
        ({"labelled": LABELLED, "model": "nonsense"}, "names no model"),
        ({"labelled": LABELLED, "model": NOBODY, "kind": "soft_taste"}, "--kind 'soft_taste'"),
        ({"labelled": LABELLED, "model": NOBODY, "rounds": -1}, "--rounds -1"),
        ({"labelled": LABELLED, "model": NOBODY, "jobs": 0}, "--jobs 0"),
        ({"labelled": LABELLED, "model": NOBODY, "budget_calls": -1}, "makes no sense"),
        ({"labelled": LABELLED, "model": NOBODY, "templates": Path("nowhere")}, "is no folder"),
        ({"labelled": LABELLED.parent, "model": NOBODY}, "cannot be read"),
        ({"report": Path("no-such-folder")}, "no run folder"),
        ({"resume": Path("no-such-folder")}, "no run folder"),
    ],
)  # fmt: skip
def test_bad_input_is_a_clear_error(own_home: None, tmp_path: Path, given: dict[str, Any], said: str) -> None:
    pytest.importorskip("openai", reason="the extra 'llm' is not installed")
    with pytest.raises(UsageError) as caught:
        call(tmp_path / "run", **given)
    assert said in caught.value.what
    assert caught.value.fix
    assert not (tmp_path / "run").exists()


def test_no_hardware_time_is_no_share_of_it() -> None:
    data = {"looks": 1, "flagged": 1, "skipped": 1, "tried": 0, "saved_s": 0.0, "hardware_s": 0.0, "lost": 0.0}
    assert "0.0 s of 0.0 s (0 %)" in score_lines(data)
