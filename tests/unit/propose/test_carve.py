"""What of a task file is its candidate."""

from __future__ import annotations

import ast

import pytest
from tests.conftest import TASK_FILE

from kernellab.propose.carve import carve

TRITON = '''"""A task with its kernel."""
import numpy as np
import triton
import triton.language as tl
from kernellab.tasks import Buffer, Task

WIDE = 4
HIDDEN = ({"N": 77777},)

@triton.jit
def kern(x, y, n, B: tl.constexpr):
    helper(x)

def helper(x):
    return x * WIDE

def reference(x):
    return np.exp(x)

TASK = Task(name="t", held_out=HIDDEN)
SPACE = {"B": [64]}

def launch(x, y, B=64):
    kern[(triton.cdiv(x.size, B),)](x, y, x.size, B=B)
'''


def test_the_task_and_its_shapes_are_left_out() -> None:
    text = carve(TASK_FILE)
    assert "5003" not in text
    assert "TASK" not in text
    assert "reference" not in text
    assert "numpy" not in text
    for part in ("SOURCE", "SPACE", "FLAGS", "def launch", "Twice the cube"):
        assert part in text
    ast.parse(text)


def test_what_launch_uses_comes_along_with_decorators() -> None:
    text = carve(TRITON)
    for part in (
        "@triton.jit",
        "def kern",
        "def helper",
        "WIDE = 4",
        "import triton\n",
        "import triton.language as tl",
    ):
        assert part in text
    for part in ("77777", "HIDDEN", "TASK", "numpy", "kernellab"):
        assert part not in text


@pytest.mark.parametrize("text", ["def launch(:", "x\0y", ""])
def test_what_is_no_python_is_left_to_the_builder(text: str) -> None:
    assert carve(text).strip() == text.strip()
