"""Functions of a task in a file of their own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernellab.certify import inline_source as module
from kernellab.certify.inline_source import NotInlined, inline_source
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import draw_inputs

FACTOR = 3
TABLE = {"a": (1.5, 2)}
OBJECT = object()


def helper(x: Any, by: int = FACTOR) -> Any:
    return x * by + TABLE["a"][1]


@functools.cache
def cached(n: int) -> float:
    return math.sqrt(n)


def uses_all(x: Any) -> Any:
    values: list[Any] = [helper(v) for v in x]
    return np.asarray(values) + cached(4)


def uses_object(x: Any) -> Any:
    return x, OBJECT


def made(by: int) -> Callable[[Any], Any]:
    def inner(x: Any) -> Any:
        return x * by

    return inner


def answers(x: Any) -> Any:
    return 2 * x


def uses_answers(x: Any) -> Any:
    return answers(x) + 1


@pytest.fixture(autouse=True)
def these_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OURS", ("kernellab", "klab_task_", __name__))


def loaded(text: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "elsewhere"}
    exec(compile(text, "carried", "exec"), scope)
    return scope


def test_helpers_constants_and_imports_come_along() -> None:
    text = inline_source({"reference": uses_all})
    assert loaded(text)["reference"]([1, 2]).tolist() == uses_all([1, 2]).tolist()
    assert "test_carry" not in text


def test_closures_become_constants() -> None:
    assert loaded(inline_source({"reference": made(7)}))["reference"](2) == 14


def test_one_name_for_two_things_is_refused() -> None:
    def other() -> Callable[[Any], Any]:
        by = "text"

        def second(x: Any) -> Any:
            return f"{x}{by}"

        return second

    with pytest.raises(NotInlined, match="'by' means two things"):
        inline_source({"reference": made(7), "scale": other()})


@pytest.mark.parametrize(
    ("function", "words"), [(uses_object, "object of object"), (lambda x: x, "no function"), (len, "no function")]
)
def test_what_has_no_text_is_refused_by_name(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(NotInlined, match=words):
        inline_source({"reference": function})


@pytest.mark.parametrize("name", ["softmax", "stencil5x5", "particle_filter_bf16"])
def test_built_in_references_give_the_same_answers_elsewhere(name: str) -> None:
    task = TASKS[name]
    scope = loaded(inline_source({"reference": task.reference, "expression": task.gpu_baselines["torch"]}))
    wide = [a.astype(np.float64) for a in draw_inputs(task, task.edge[2], "normal", np.random.default_rng(0))]
    found, wanted = scope["reference"](*wide), task.reference(*wide)
    for got, value in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        np.testing.assert_array_equal(got, value)


def test_helpers_with_the_name_of_something_in_that_file_are_refused() -> None:
    with pytest.raises(NotInlined, match="'answers' means something else"):
        inline_source({"reference": uses_answers})
    with pytest.raises(NotInlined, match="'helper' means something else"):
        inline_source({"reference": uses_all, "helper": uses_answers})
