"""klab generate, compile, select, best, explain as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Klab
from .conftest import Recorded

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
def test_a_recipe_is_generated_compiled_and_its_source_written(klab: Klab, tmp_path: Path) -> None:
    made = klab(
        "generate", "softmax", "--base", "softmax_online", "--backend", "c", "--out", "mine.py", "--json", cwd=tmp_path
    )
    assert made.code == 0, made.err
    assert "def launch" in (tmp_path / "mine.py").read_text()
    built = klab("compile", made.json["kernel"], "--json", cwd=tmp_path)
    assert built.code == 0, built.err
    assert (tmp_path / "klab-runs" / "built" / built.json["artifact"] / "code.bin").is_file()


def test_what_a_run_knows_is_told_in_words_and_in_json(klab: Klab, recorded: Recorded) -> None:
    said = klab("explain", recorded.folder, recorded.trial("rejected"))
    assert said.out == klab("explain", recorded.folder, "--trial", recorded.trial("rejected")).out
    assert said.code == 0, said.err
    assert "wrong-output" in said.out
    best = klab("best", recorded.folder, "--json").json
    chosen = klab("select", recorded.folder, "-n", 3, "--scheme", "island", "--json").json
    assert best["rows"][0]["task"] == "cube"
    assert len(chosen["chosen"]) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("generate", "softmax", "--space", "BLOCK"), ("names no choices",)),
        (("select", "nowhere"), ("no run folder",)),
        (("compile", "none.py", "--task", "softmax"), ("cannot be read",)),
    ],
)
def test_bad_input_is_told_with_a_remedy(
    klab: Klab, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    klab(*arguments, cwd=tmp_path).failed(2, *words)
