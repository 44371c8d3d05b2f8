"""Live objects: a function or a module of this very program becomes a task, judges a kernel, and is left as it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

import kernellab  # noqa: E402
from kernellab import api  # noqa: E402
from kernellab.core.errors import TaskRefused, UsageError  # noqa: E402
from kernellab.report.audit import audit  # noqa: E402
from kernellab.tasks.load import load_task  # noqa: E402
from kernellab.tasks.modules.importing import Wishes  # noqa: E402
from kernellab.tasks.modules.live import locate_object  # noqa: E402

KERNEL = '''
SOURCE = r"""
void doubled(const float *x, float *y, long n) {
    for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? 2 * x[i] : 0;
}
"""

def launch(x, out):
    kernel("doubled")(x, out, x.size)
'''


@kernellab.task(example_inputs=[torch.randn(16, 24)])
def doubled(x: Any) -> Any:
    return torch.relu(x) * 2


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(8))
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        return self.drop(x) * self.gain


def test_a_decorated_function_is_a_function_still() -> None:
    assert torch.equal(doubled(torch.tensor([-1.0, 3.0])), torch.tensor([0.0, 6.0]))


@pytest.mark.slow
def test_a_kernel_for_a_live_function_is_judged_and_its_run_needs_the_function_no_more(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(KERNEL)
    (tmp_path / "wrong.py").write_text(KERNEL.replace("2 * x", "3 * x"))
    quick: dict[str, Any] = {"effort": "quick", "sample_s": 0.0003, "cache": False, "shape": {"d0": 32, "d1": 24}}
    right = kernellab.verify(tmp_path / "right.py", doubled, out=tmp_path / "a", **quick)
    assert right.status == "verified", right.data()
    wrong = kernellab.verify(tmp_path / "wrong.py", doubled, out=tmp_path / "b", **quick)
    assert wrong.status == "nothing-verified"
    assert audit(right.folder).problems == []
    assert load_task(str(right.folder / "task.json")).name == "doubled"


@pytest.mark.heavy
def test_a_module_is_taken_in_the_mode_that_is_wished_and_keeps_its_own() -> None:
    net = Net()
    before = net.gain.detach().clone()
    with pytest.raises(TaskRefused, match="dropout"):
        locate_object(net, [torch.rand(4, 8)])
    task = load_task(locate_object(net, [torch.rand(4, 8)], Wishes(eval_mode=True)))
    assert [b.name for b in task.inputs] == ["gain", "x"]
    assert net.training
    assert net.gain.dtype == torch.float32
    assert torch.equal(net.gain.detach(), before)


@pytest.mark.heavy
def test_check_takes_an_object_with_inputs_given_there_and_then() -> None:
    assert api.check(lambda x: x.softmax(-1), example_inputs=[torch.randn(3, 5)]).name == "lambda"


@pytest.mark.parametrize(
    ("subject", "inputs", "says"),
    [
        (Net, [torch.rand(4, 8)], "is a class"),
        (lambda x: x, None, "no example inputs"),
        (lambda x: x + torch.rand(3), [torch.rand(3)], "rand"),
        (lambda x: x.data_ptr() and x / 0 if False else int("a"), [torch.rand(3)], "invalid literal"),
        (lambda x: os._exit(3), [torch.rand(3)], "ended early"),
        (lambda x: x[x > 0], [torch.randn(9)], "data"),
    ],
    ids=["class", "no inputs", "random", "raises", "ends the process", "shape by data"],
)
def test_what_cannot_be_a_task_is_said_in_words(subject: Any, inputs: Any, says: str) -> None:
    with pytest.raises((TaskRefused, UsageError), match=says):
        locate_object(subject, inputs)


def test_inputs_go_with_an_object_only() -> None:
    with pytest.raises(UsageError, match="brings its own inputs"):
        api.check("softmax", example_inputs=[torch.rand(3)])
    with pytest.raises(UsageError, match="is a class"):
        kernellab.task(example_inputs=[])(Net)
