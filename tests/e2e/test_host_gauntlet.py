"""Every ModelNew of tests/cheats/host through the real door: no cheat passes, no honest one is refused, on a busy machine too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.settings import Settings
from kernellab.evaluate.judge_solution import SolutionJudge

pytest.importorskip("torch")
FOLDER = Path(__file__).parents[1] / "cheats" / "host"
FILES = sorted(FOLDER.glob("*.py"))
_SPINNING = 6
_WANTED = {"cheat": "rejected", "honest": "passed", "invalid": "invalid"}


class Judges:
    """One for each problem, opened when it is first wanted."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._opened: dict[str, SolutionJudge] = {}

    def status(self, file: Path) -> tuple[str, str]:
        name = file.read_text().splitlines()[0].removeprefix("# PROBLEM: ")
        if name not in self._opened:
            problem = f"{FOLDER / 'problems' / name}.py:Model"
            judge = SolutionJudge(Settings(device="cpu", effort="quick"), problem, [str(FOLDER)])
            self._opened[name] = self._stack.enter_context(judge)
        found = self._opened[name].judge(file)
        return found.status, found.reason


@pytest.fixture(scope="module")
def judges(own_home: None) -> Iterator[Judges]:
    with ExitStack() as stack:
        yield Judges(stack)


def test_there_are_enough_of_each_kind() -> None:
    kinds = [file.stem.partition("_")[0] for file in FILES]
    assert set(kinds) == set(_WANTED)
    assert (kinds.count("cheat") >= 14, kinds.count("honest") >= 5) == (True, True)


def cases() -> list[Any]:
    """Torch's own builders compile for half a minute on a machine that does nothing else."""
    slow = {file: "cpp_extension" in file.read_text() for file in FILES}
    return [pytest.param(f, marks=[pytest.mark.slow] if slow[f] else [], id=f.stem) for f in FILES]


@pytest.mark.sample(1)
@pytest.mark.parametrize("file", cases())
def test_cheats_are_rejected_and_honest_solutions_pass(judges: Judges, file: Path) -> None:
    status, reason = judges.status(file)
    assert status == _WANTED[file.stem.partition("_")[0]], reason


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cheat_build_behaves", "0.03125 instead of"),
        ("cheat_build_keeps_answers", "instead of"),
        ("cheat_build_leaves_helper", "0.0 instead of"),
        ("cheat_inline_thread", "0.0 instead of"),
    ],
)
def test_what_was_arranged_in_the_build_is_judged_by_its_later_outputs(judges: Judges, name: str, words: str) -> None:
    assert words in judges.status(FOLDER / f"{name}.py")[1]


@pytest.mark.slow
def test_the_same_while_others_use_the_machine(judges: Judges) -> None:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(_SPINNING)]
    try:
        wrong = {
            file.stem: found
            for file in FILES
            if (found := judges.status(file))[0] != _WANTED[file.stem.partition("_")[0]]
        }
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert not wrong
