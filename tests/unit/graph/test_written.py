"""What a baseline runs is what the module's code calls: neither its operators taken apart, nor a dearer way to call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from kernellab.graph import export  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.program import program  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.graph.source import Request, Subject, as_module  # noqa: E402
from kernellab.graph.translate import translate  # noqa: E402
from kernellab.tasks.modules.importing import record_of  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.spec import Task  # noqa: E402
from kernellab.tasks.suites.base import Problem  # noqa: E402

X, Y = torch.randn(6, 32), torch.randn(6, 32)
IMAGE, HEADS = torch.randn(2, 3, 8, 8), torch.randn(1, 2, 16, 8)
WHOLE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "huber_loss": (F.huber_loss, (X, Y)),
    "smooth_l1_loss": (F.smooth_l1_loss, (X, Y)),
    "hardswish": (lambda x: F.hardswish(x), (X,)),
    "hardsigmoid": (lambda x: F.hardsigmoid(x), (X,)),
    "pad": (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (IMAGE,)),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), (X,)),
    "scaled_dot_product_attention": (lambda q: F.scaled_dot_product_attention(q, q, q), (HEADS,)),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", WHOLE)
def test_what_torch_does_at_once_is_one_operator_of_the_baseline(name: str) -> None:
    """In core operators these take up to fifteen times as long: whoever beat them had beaten nobody."""
    function, inputs = WHOLE[name]
    record = capture_object(function, inputs, "whole")
    assert record.written is not None
    assert f"aten.{name}.default" in [node.op for node in record.written.nodes]
    assert len(record.written.nodes) < len(record.nodes)
    (found,) = program(record.written, record.example)(*inputs)
    torch.testing.assert_close(found, function(*inputs))
    assert record.digest == record.model_copy(update={"written": None}).digest, "what is computed is the same"


def test_a_dropout_that_does_nothing_costs_the_baseline_nothing() -> None:
    module = nn.Sequential(nn.Linear(32, 8), nn.Dropout(), nn.SiLU()).eval()
    record = capture_object(module, (X,), "dropout")
    assert record.written is not None
    assert [node.op for node in record.written.nodes] == ["aten.linear.default", "aten.silu.default"]


def test_operators_are_called_as_people_call_them() -> None:
    record = capture_object(lambda x, y: torch.softmax(x * torch.sigmoid(y) + 0.5, 1), (X, Y), "small")
    made = program(record, record.example)
    called = {node.target for node in made.__self__.graph.nodes if node.op == "call_function"}  # type: ignore[attr-defined]
    assert {torch.mul, torch.sigmoid, torch.add} <= called
    torch.testing.assert_close(made(X, Y)[0], torch.softmax(X * torch.sigmoid(Y) + 0.5, 1))


def task_of(record: GraphRecord) -> Task:
    return module_task(record_of(record, Problem(Request("", "m"), "m")))


def task_baselines(record: GraphRecord) -> dict[str, Any]:
    return dict(task_of(record).baselines)


@pytest.mark.heavy
def test_a_task_has_both_where_they_differ() -> None:
    taken_apart = task_baselines(capture_object(F.huber_loss, (X, Y), "huber"))
    assert list(taken_apart) == ["torch", "torch-core"]
    assert list(task_baselines(capture_object(lambda x: x.relu() * 2, (X,), "core"))) == ["torch"]
    assert list(task_baselines(capture_object(lambda x: torch.softmax(x, 1), (X,), "renamed"))) == ["torch"]
    outputs = [torch.empty(1), torch.empty(1)]
    for baseline, out in zip(taken_apart.values(), outputs, strict=True):
        baseline(X, Y, out)
    torch.testing.assert_close(outputs[0], outputs[1])


@pytest.mark.heavy
def test_what_is_compiled_and_run_on_a_gpu_is_the_module_as_written() -> None:
    function, inputs = WHOLE["scaled_dot_product_attention"]
    found = task_of(capture_object(function, inputs, "attention")).gpu_baselines
    assert list(found) == ["torch", "torch-core"]
    operators: set[str] = set()

    def seen(graph: Any, _: Any) -> Any:
        operators.update(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    compiled = torch.compile(found["torch"].straight(HEADS), backend=seen)
    torch.testing.assert_close(compiled(HEADS)[0], function(HEADS))
    assert any("scaled_dot_product_attention" in name for name in operators)
    torch._dynamo.reset()


def test_a_function_with_other_defaults_is_not_the_operator() -> None:
    """torch._C._nn.cross_entropy_loss begins as the operator does, and takes no mean of what comes out."""
    logits, places = torch.randn(6, 32), torch.randint(0, 32, (6,))
    record = capture_object(lambda x, t: F.cross_entropy(x, t), (logits, places), "loss")
    assert record.written is not None
    (found,) = program(record.written, record.example)(logits, places)
    torch.testing.assert_close(found, F.cross_entropy(logits, places))


STANDS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], bool]] = {
    "whole operators": (lambda x, y: F.huber_loss(torch.softmax(x, 1), y), (X, Y), True),
    "a view of its input": (lambda x: F.silu(x).flatten(), (X,), False),
    "what may give its input back": (lambda x: F.silu(x).to(torch.bfloat16), (X,), False),
    "written in place": (lambda x: F.silu(x + 1).mul_(2), (X,), False),
    "a dropout that does nothing": (lambda x: F.silu(F.dropout(x, training=False)), (X,), True),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", STANDS)
def test_what_torch_would_not_take_apart_stands_as_it_was_exported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same graph, found without a third of the work."""
    function, inputs, stands = STANDS[name]
    exported = export.exported(Subject(as_module(function), inputs), free=True)
    core = translate(export.in_core(exported), name, "")
    export._drop_dropouts(exported.graph)
    assert export._may_stand(exported.graph, {n.op for n in core.nodes}) is stands
    found = export._written(exported, core)
    monkeypatch.setattr(export, "_may_stand", lambda *_: False)
    other = export._written(exported, core)
    assert (found and [(n.op, n.results) for n in found.nodes]) == (other and [(n.op, n.results) for n in other.nodes])
