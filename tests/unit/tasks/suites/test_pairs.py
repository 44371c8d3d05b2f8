from __future__ import annotations

import pytest

from kernellab.core.errors import UsageError
from kernellab.graph.source import Request
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite, find_suite
from kernellab.tasks.suites.pairs import backward_of, forward_name, with_backward

PLAIN = Problem(Request("own.py", "Model"), "own", "mine", on_accelerator=Request("own.py", "Model", {"n": 9}))


def test_a_backward_is_the_same_code_at_the_same_sizes_under_a_name_of_its_own() -> None:
    found = backward_of(PLAIN)
    assert (found.name, found.request.backward, found.request.file) == ("own-backward", True, "own.py")
    assert found.on_accelerator is not None
    assert (found.on_accelerator.backward, found.on_accelerator.init) == (True, {"n": 9})
    assert (forward_name(found), forward_name(PLAIN)) == ("own", "")


def test_each_problem_is_followed_by_its_backward_unless_it_has_none() -> None:
    without = Problem(Request("a.py"), "a", has_backward=False)
    broken = Problem(Request("b.py"), "b", broken=UsageError("it is empty", "write it"))
    found = with_backward(Suite("mine", "", (PLAIN, without, broken)))
    assert [p.name for p in found.problems] == ["own", "own-backward", "a", "b"]


def test_a_name_that_another_problem_has_already_is_told() -> None:
    taken = Problem(Request("own-backward.py"), "own-backward")
    with pytest.raises(UsageError, match="'own-backward' already"):
        with_backward(Suite("mine", "", (PLAIN, taken)))


def test_of_our_own_suite_those_have_one_that_say_so() -> None:
    names = [p.name for p in with_backward(find_suite("lab")).problems]
    assert "rms_norm-f32-backward" in names
    assert "histogram-u8-backward" not in names
    assert sum(name.endswith("-backward") for name in names) >= 10
