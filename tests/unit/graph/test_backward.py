"""The backward of a module as a graph, and what cannot have one."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from tests.unit.graph.draws import kept_bits  # noqa: E402
from torch import nn  # noqa: E402

from kernellab.core.errors import TaskRefused  # noqa: E402
from kernellab.graph.backward import gradients  # noqa: E402
from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.ops.table import row  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.graph.scale import judge  # noqa: E402
from kernellab.graph.source import Subject, as_module  # noqa: E402

_GENERATOR = torch.Generator().manual_seed(0)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=_GENERATOR)


class Pools(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.max_pool2d(F.relu(self.conv(x)), 2)
        return F.avg_pool2d(y, 2) + F.adaptive_avg_pool2d(y, 1)


_CASES: dict[str, tuple[Any, tuple[torch.Tensor, ...]]] = {
    "linear": (nn.Sequential(nn.Linear(12, 8), nn.GELU(), nn.Linear(8, 5)), (draw(6, 12),)),
    "pools": (Pools(), (draw(2, 3, 8, 8),)),
    "norm": (nn.LayerNorm(10), (draw(4, 10),)),
    "eval norm": (nn.Sequential(nn.Conv2d(3, 5, 3, groups=1), nn.BatchNorm2d(5)).eval(), (draw(2, 3, 6, 6),)),
    "transposed": (nn.ConvTranspose1d(3, 4, 3, stride=2), (draw(2, 3, 7),)),
    "resampled": (lambda x: F.interpolate(F.pad(x, (1, 1), mode="reflect"), scale_factor=2.0), (draw(2, 3, 5),)),
    "distances": (lambda x, y: torch.cdist(x, y), (draw(5, 6), draw(4, 6))),
    "the least": (lambda x: x.min(1).values.tanh(), (draw(5, 6),)),
    "views only": (lambda x: x.transpose(0, 1) + 0, (draw(3, 4),)),
}


def subject_of(name: str) -> Subject:
    made, inputs = _CASES[name]
    return Subject(made if isinstance(made, nn.Module) else as_module(made), inputs)


def given(record: GraphRecord, subject: Subject, tensors: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    state = {**dict(subject.module.named_parameters()), **dict(subject.module.named_buffers())}
    left = iter(tensors)
    return {i.name: next(left) if i.role == "input" else state[i.source].detach() for i in record.inputs}


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", _CASES)
def test_gradients_agree_with_autograd_and_honest_float32_passes(name: str) -> None:
    subject = subject_of(name)
    record = capture_object(_CASES[name][0], subject.inputs, backward=True)
    assert [n.op for n in record.nodes if (r := row(n.op)) is None or r.scale is None] == []
    grads = [draw(*subject.module(*subject.inputs).shape)]
    values = given(record, subject, [*subject.inputs, *grads])
    verdicts, honest = judge(record, values), gradients(subject)(list(subject.inputs), grads)
    twin = Subject(subject.module.double(), ())
    wide = gradients(twin, wide=True)([x.double() for x in subject.inputs], [g.double() for g in grads])
    subject.module.float()
    for verdict, got, wanted in zip(verdicts, honest, wide, strict=True):
        torch.testing.assert_close(verdict.pair.value, wanted, rtol=1e-11, atol=1e-12)
        assert verdict.accepts(got)
        assert verdict.budget_ulp <= 40
        assert not verdict.accepts(torch.zeros_like(got))


@pytest.mark.heavy
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["linear", "pools", "transposed", "eval norm"])
def test_rounded_products_are_seen_in_gradients(name: str) -> None:
    subject = subject_of(name)
    record = capture_object(_CASES[name][0], subject.inputs, backward=True)
    values = given(record, subject, [*subject.inputs, draw(*subject.module(*subject.inputs).shape)])
    cheap = evaluate(record, values, wide=False, operands=kept_bits(10))
    assert not all(v.accepts(got) for v, got in zip(judge(record, values), cheap, strict=True))


def test_gradients_come_in_with_the_sizes_of_the_outputs() -> None:
    record = capture_object(_CASES["transposed"][0], _CASES["transposed"][1], backward=True)
    assert [i.name for i in record.inputs if i.role == "input"] == ["input", "grad_0"]
    coming = record.inputs[-1].type
    assert coming.extents[0] == "d0"
    assert coming.shape({**record.example, "d0": 9, "d1": 11}) == (9, 4, 23)


def test_the_gradient_of_a_near_tie_may_go_to_either() -> None:
    """0.1 * 3 and 0.3 are one rounding apart: whoever wins the pool gets all of the gradient, and nobody else."""
    x = torch.tensor([[[[0.1, 0.3 / 3, 0.0, -1.0]]]])
    record = capture_object(lambda x: F.max_pool2d(x * 3.0, (1, 4)), (x,), backward=True)
    (verdict,) = judge(record, {record.inputs[0].name: x, "grad_0": torch.ones(1, 1, 1, 1)})
    assert verdict.accepts(torch.tensor([[[[3.0, 0.0, 0.0, 0.0]]]]))
    assert verdict.accepts(torch.tensor([[[[0.0, 3.0, 0.0, 0.0]]]]))
    assert not verdict.accepts(torch.tensor([[[[3.0, 0.0, 3.0, 0.0]]]]))


def test_nothing_written_in_place_is_left() -> None:
    record = capture_object(nn.RMSNorm(8, eps=1e-6), (draw(3, 8),), backward=True)
    assert [n.op for n in record.nodes if n.op.split(".")[1].endswith("_")] == []


@pytest.mark.parametrize(
    ("function", "inputs", "words"),
    [
        (lambda x: x.argmax(1), (draw(3, 4),), "no output has a gradient"),
        (lambda x: x * 2.5, (torch.ones(3, dtype=torch.int64),), "no output has a gradient"),
        (lambda x: F.dropout(x, 0.5, training=True), (draw(3, 4),), "random"),
    ],
)
def test_what_has_no_backward_is_refused(function: Any, inputs: tuple[Any, ...], words: str) -> None:
    with pytest.raises(TaskRefused, match=words):
        capture_object(function, inputs, backward=True)
