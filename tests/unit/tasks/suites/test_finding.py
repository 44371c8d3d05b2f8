"""Suites by name and by folder, and the tasks that are picked from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.graph.source import Request
from kernellab.tasks.lab import lab_tasks
from kernellab.tasks.suites import all_problems, find_problem, is_shipped
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite, find_suite, sample, select

MODULE = "class Model: ...\ndef get_inputs(): ...\n"


def named(*names: str) -> list[Problem]:
    return [Problem(Request(f"{name}.py"), name) for name in names]


def picked(wanted: str, *names: str) -> list[str]:
    return [p.name for p in select(named(*names), wanted)]


NUMBERED = ("2_relu", "10_norm", "11_norm_add", "100_loss")


def test_numbers_are_those_that_the_names_begin_with() -> None:
    assert picked("10", *NUMBERED) == ["10_norm"]
    assert picked("2-10,100", *NUMBERED) == ["2_relu", "10_norm", "100_loss"]
    assert picked("", *NUMBERED) == list(NUMBERED)


def test_names_without_numbers_are_counted() -> None:
    assert picked("1,3", "a", "b", "c") == ["a", "c"]


def test_words_are_names_or_patterns_in_the_suites_own_order() -> None:
    assert picked("*norm*", *NUMBERED) == ["10_norm", "11_norm_add"]
    assert picked("100_loss,2_relu", *NUMBERED) == ["2_relu", "100_loss"]


@pytest.mark.parametrize("wanted", ["7", "3-9", "*nothing*", "2_rely", "1,77"])
def test_what_names_nothing_is_refused(wanted: str) -> None:
    with pytest.raises(UsageError, match="the suite has no task"):
        select(named(*NUMBERED), wanted)


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        select(named(*NUMBERED), "10_nrm")
    assert "did you mean '10_norm'" in caught.value.fix


def test_our_own_suite_by_its_name() -> None:
    suite = find_suite("lab")
    assert [p.name for p in suite.problems] == list(lab_tasks())
    assert (suite.name, suite.path) == ("lab", "")
    one = find_problem("lab:rms_norm-bf16")
    assert one is not None
    assert one.on_accelerator is not None
    assert (one.request.init or {})["dtype"] == "bfloat16"
    assert one.request.init != one.on_accelerator.init
    assert is_shipped("lab:rms_norm-f32")
    assert not is_shipped("lab")
    with pytest.raises(UsageError, match="has no task 'rms_nrm-f32'") as caught:
        find_problem("lab:rms_nrm-f32")
    assert "lab:rms_norm-f32" in caught.value.fix


@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        ("", "", "give a suite by its name"),
        ("lab", "x", "give a suite by its name"),
        ("moon", "", "there is no suite 'moon'"),
        ("", "absent", "there is no folder"),
    ],
)
def test_a_suite_that_is_not_there(name: str, path: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_suite(name, path)


def test_a_file_an_empty_folder_and_a_folder_of_folders(tmp_path: Path) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "1_a.py").write_text(MODULE)
    with pytest.raises(UsageError, match="is a file, not a folder"):
        find_suite(path=str(tmp_path / "level1" / "1_a.py"))
    with pytest.raises(UsageError, match="there are no problems") as caught:
        find_suite(path=str(tmp_path))
    assert "level1" in caught.value.fix
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there are no problems"):
        find_suite(path=str(tmp_path / "empty"))


def test_problems_of_one_name_get_numbers(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        text = {"name": "norm", "axes": {}, "inputs": {}, "outputs": {}, "reference": "def run(): ..."}
        (tmp_path / place / "norm.json").write_text(json.dumps(text))
    assert [p.name for p in find_suite(path=str(tmp_path)).problems] == ["norm", "norm-2"]


def test_a_file_is_a_problem_of_one_form_alone(tmp_path: Path) -> None:
    (tmp_path / "func_forward.py").write_text(MODULE)
    assert [p.suite for p in all_problems(str(tmp_path))] == ["robust-kbench"]


def test_a_sample_is_drawn_by_its_seed_whatever_the_order_and_says_so() -> None:
    names = [f"{n}_p" for n in range(1, 31)]
    suite, turned = (Suite("s", "", tuple(named(*given))) for given in (names, reversed(names)))
    drawn = [p.name for p in sample(suite, 20, 7).problems]
    assert len(set(drawn)) == 20
    assert drawn == [p.name for p in sample(turned, 20, 7).problems]
    assert drawn != [p.name for p in sample(suite, 20, 8).problems]
    assert sample(suite, 20, 7).drawn == "20 of 30, drawn by seed 7"
    assert suite.drawn == ""


@pytest.mark.parametrize("count", [0, 5])
def test_a_sample_is_part_of_the_suite(count: int) -> None:
    with pytest.raises(UsageError, match="cannot be drawn from 4 problems"):
        sample(Suite("s", "", tuple(named(*NUMBERED))), count, 0)
