"""A problem has one class, the gravest that was found, and all of the evidence."""

from __future__ import annotations

from kernellab.suite.checked import CheckedProblem, Finding


def checked(*classes: str) -> CheckedProblem:
    return CheckedProblem.model_validate(
        {"name": "p", "graph": "g", "sizes": "d0=2", "findings": [{"is_a": c, "evidence": f"e-{c}"} for c in classes]}
    )


def test_the_gravest_class_comes_first() -> None:
    found = checked("linear-collapse", "constant", "zeros-accepted")
    assert (found.is_a, found.evidence) == ("constant", "e-constant; e-zeros-accepted; e-linear-collapse")
    assert checked().is_a == "ok"


def test_labels_are_searched_and_the_rest_is_not() -> None:
    assert [checked(c).searched for c in ("zeros-accepted", "mean-accepted", "linear-collapse")] == [True] * 3
    names = ("broken", "refused", "training-mode", "dropout", "too-large", "duplicate", "constant")
    assert not any(checked(c).searched for c in names)


def test_two_problems_are_one_by_graph_and_sizes() -> None:
    assert checked().same_as == "g d0=2"
    assert CheckedProblem(name="p", findings=(Finding(is_a="broken", evidence=""),)).same_as == ""
