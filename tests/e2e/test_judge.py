"""klab judge: what it says and how it ends. Cheats are in test_host_gauntlet.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Klab

pytest.importorskip("torch")
FOLDER = Path(__file__).parents[1] / "cheats" / "host"
PROBLEM = FOLDER / "problems" / "linear_softmax.py"


@pytest.mark.heavy
def test_an_honest_solution_passes_and_claims_nothing(torch_klab: Klab) -> None:
    done = torch_klab("judge", FOLDER / "honest_plain.py", "--problem", f"{PROBLEM}:Model", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert (found["status"], found["trust"], found["timing"]) == ("passed", "host", None)
    assert found["verdict"]["cases"] > 10
    assert "nothing to certify" in found["claim"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "words"),
    [("cheat_zeros", "rejected", "wrong"), ("invalid_no_model_new", "invalid", "no 'ModelNew'")],
)
def test_what_does_not_pass_ends_with_4_and_a_line(torch_klab: Klab, name: str, status: str, words: str) -> None:
    done = torch_klab("judge", FOLDER / f"{name}.py", "--problem", PROBLEM)
    assert done.code == 4, done.err
    assert done.out.startswith(status)
    assert words in done.out


@pytest.mark.slow
def test_a_syntax_error_is_told_with_its_line(torch_klab: Klab, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("class ModelNew(:\n")
    done = torch_klab("judge", file, "--problem", PROBLEM, "--json")
    assert (done.code, done.json["status"]) == (4, "invalid")
    assert "broken.py:1: SyntaxError" in done.json["reason"]


def test_bad_input_is_a_line_and_a_fix(torch_klab: Klab, tmp_path: Path) -> None:
    solution = FOLDER / "honest_plain.py"
    torch_klab("judge", tmp_path / "none.py", "--problem", PROBLEM).failed(2, "there is no file")
    torch_klab("judge", solution, "--problem", f"{tmp_path / 'none.py'}:Model").failed(2, "there is no file")
    torch_klab("judge", solution, "--problem", "softmax").failed(2, "no PyTorch module")
    torch_klab("judge", solution, "--problem", "no-such-thing").failed(2, "no PyTorch module")
    torch_klab("judge", solution).failed(2)
    torch_klab("judge", tmp_path, "--problem", PROBLEM).failed(2, "there is no file")


@pytest.mark.slow
@pytest.mark.backend_c
def test_a_timing_is_a_figure_for_people(torch_klab: Klab) -> None:
    done = torch_klab("judge", FOLDER / "honest_plain.py", "--problem", PROBLEM, "--time", "--json")
    assert done.code in (0, 7), done.err
    found = done.json
    assert found["trust"] == "host"
    if done.code == 0:
        assert found["timing"]["baseline"].startswith("torch")
        assert found["timing"]["checked"] > 0
        assert found["timing"]["calls"] == 1, "no process holds the inputs of calls to come"
