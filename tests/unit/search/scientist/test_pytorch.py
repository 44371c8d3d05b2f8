"""PyTorch code is translated only if it is what the task asks for."""

from __future__ import annotations

import pytest

from kernellab.core.errors import UsageError
from kernellab.search.scientist.pytorch import check_pytorch
from kernellab.tasks.load import load_task

pytest.importorskip("torch")
MODULE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=AXIS)
"""
FUNCTION = "import torch\n\ndef anything(x):\n    return torch.softmax(x, -1)\n"


@pytest.mark.parametrize("text", [MODULE.replace("AXIS", "-1"), FUNCTION])
def test_a_module_or_a_function_that_computes_the_task_is_taken(text: str) -> None:
    check_pytorch(text, load_task("softmax"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MODULE.replace("AXIS", "0"), "is not this task"),
        (FUNCTION.replace("torch.softmax(x, -1)", "x.sum(-1)"), "has the shape"),
        (FUNCTION.replace("torch.softmax(x, -1)", "(x, x)"), "2 values"),
        (FUNCTION.replace("torch.softmax(x, -1)", "undefined"), "NameError"),
        ("def f(:", "SyntaxError"),
        ("x = 3", "no function"),
        (FUNCTION + "\ndef other(x):\n    return x\n", "anything, other"),
        (
            "import torch\nclass M(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n",
            "without arguments",
        ),
    ],
)
def test_what_is_something_else_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_pytorch(text, load_task("softmax"))
    assert words in refused.value.what
    assert refused.value.fix


def test_several_outputs_are_compared_one_by_one() -> None:
    text = "import torch\ndef f(x, lw, z):\n    w = torch.softmax(lw - 0.5 * (x - z) ** 2, 0)\n    return w, 1 / (w * w).sum().reshape(1)\n"
    task = load_task("particle_filter")
    with pytest.raises(UsageError):
        check_pytorch(text.replace("0.5", "0.7"), task)
