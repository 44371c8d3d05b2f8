"""A suite as a list: names, what the files say of themselves, and locators that work elsewhere."""

from __future__ import annotations

from pathlib import Path

from kernellab.tasks.suites import find_problem
from kernellab.tasks.suites.finding import find_suite
from kernellab.tasks.suites.listing import lines_of


def test_every_locator_of_our_own_suite_is_that_problem() -> None:
    for line in lines_of(find_suite("lab")):
        found = find_problem(line.locator)
        assert found is not None
        assert (found.name, bool(line.about)) == (line.name, True)


def test_a_folders_problems_say_what_their_text_says(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('class Model:\n    """Adds.\n    More."""\ndef get_inputs(): ...\n')
    (tmp_path / "b.py").write_text('"""Of the file."""\nclass Model: ...\ndef get_inputs(): ...\n')
    (tmp_path / "c.py").write_text("def (:\n")
    lines = lines_of(find_suite(path=str(tmp_path)))
    assert [(line.name, line.about) for line in lines] == [
        ("a", "Adds."),
        ("b", "Of the file."),
        ("c", "cannot be read"),
    ]
    assert lines[0].locator == str(tmp_path / "a.py")


def test_a_robust_kbench_folder_is_named_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "norm").mkdir()
    (tmp_path / "norm" / "func_forward.py").write_text("class Model: ...\ndef get_inputs(): ...\n")
    (line,) = lines_of(find_suite(path=str(tmp_path)))
    assert line.locator == str(tmp_path / "norm")
