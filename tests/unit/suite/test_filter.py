"""Every class of problem, by a small module of that class: captured in the sandbox, looked at here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.suite.problems import plain, write

from kernellab.suite.checked import CheckedProblem
from kernellab.suite.filter import Filtered, check_problem
from kernellab.tasks.modules.importing import Importer, Wishes
from kernellab.tasks.suites.finding import find_suite

pytest.importorskip("torch")
Check = Callable[..., CheckedProblem]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("filter") / "all")


@pytest.fixture(scope="module")
def filtered(folder: Path, importer: Importer) -> Callable[..., Filtered]:
    def check(name: str, wishes: Wishes | None = None) -> Filtered:
        (problem,) = find_suite(path=str(folder), tasks=name).problems
        return check_problem(importer, problem, wishes or Wishes(), "cpu")

    return check


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "is_a", "operators", "words"),
    [
        ("1_scaled", "ok", "pointwise", ""),
        ("2_sorted", "ok", "sort", ""),
        ("4_missing", "broken", "", "No module named 'not_there'"),
        ("5_constant", "constant", "reduction", "every element is 0 whatever the inputs"),
        ("7_dropout", "dropout", "pointwise", "it draws random numbers; in evaluation mode it is a task"),
        ("8_norm", "training-mode", "norm", "writes its running statistics"),
        ("10_sum", "linear-collapse", "product", "mm (10_sum.py:10) goes into sum (10_sum.py:10)"),
        ("11_in_place", "refused", "", "writes to its input"),
        ("12_prints", "ok", "pointwise", ""),
        ("13_downloads", "broken", "", "no network here"),
    ],
)
def test_a_problem_is_of_its_class_with_the_evidence(
    filtered: Callable[..., Filtered], name: str, is_a: str, operators: str, words: str
) -> None:
    found = filtered(name).checked
    assert (found.is_a, words in found.evidence) == (is_a, True), found.evidence
    assert found.operators == operators


def test_small_outputs_are_accepted_as_zeros_by_the_suites_tolerance_and_by_no_judge_of_ours(
    filtered: Callable[..., Filtered],
) -> None:
    found = filtered("9_small")
    assert found.checked.is_a == "zeros-accepted"
    assert found.checked.evidence == "zeros pass KernelBench's old rule (0.01) and its newer rule (0.0001)"
    assert found.record is not None
    assert found.checked.searched


@pytest.mark.heavy
def test_what_is_refused_in_training_mode_is_a_task_in_evaluation_mode(filtered: Callable[..., Filtered]) -> None:
    refused, taken = filtered("8_norm"), filtered("8_norm", Wishes(eval_mode=True))
    assert (refused.record, refused.checked.searched) == (None, False)
    assert "in evaluation mode it is a task" in refused.checked.evidence
    assert (taken.checked.is_a, taken.checked.eval_mode) == ("ok", True)
    assert taken.record is not None


@pytest.mark.heavy
def test_what_is_no_task_in_either_mode_says_so(folder: Path, filtered: Callable[..., Filtered]) -> None:
    (folder / "21_only_dropout.py").write_text(plain("self.drop(x)", "self.drop = torch.nn.Dropout(0.5)"))
    found = filtered("21_only_dropout").checked
    assert (found.is_a, "nor is it one in evaluation mode" in found.evidence) == ("dropout", True)
    assert "a kernel that does 'copy an input' would pass" in found.evidence


@pytest.mark.heavy
def test_a_problem_too_large_for_a_processor_is_reduced(folder: Path, filtered: Callable[..., Filtered]) -> None:
    init = "self.layer = torch.nn.Linear(features, features)"
    text = plain("self.layer(x)", init, "batch, features", "batch = 64\nfeatures = 2048\n")
    (folder / "20_large.py").write_text(text)
    found = filtered("20_large")
    assert (found.checked.is_a, found.checked.reduced, found.checked.sizes) == ("ok", True, "d0=64")
    assert found.record is not None
    assert found.record.graph.inputs[0].type.extents == (64, 64)
    assert found.record.graph.digest != found.checked.graph, "by this the audit of a suite knows reduced sizes"
