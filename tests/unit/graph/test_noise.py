"""Errors of deep float32 graphs held together: low precision shows although scales would excuse it, honest orders pass."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.graph.scale import Judged, disturbed, judge, rms  # noqa: E402
from kernellab.tasks.modules.oracle import rounding  # noqa: E402


def layers(count: int) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(*(m for _ in range(count) for m in (nn.Linear(48, 48), nn.GELU())))


def captured(module: nn.Module, *inputs: Any) -> tuple[GraphRecord, dict[str, Any]]:
    record = capture_object(module.eval(), inputs, "deep")
    weights = dict(module.state_dict())
    given = iter(inputs)
    return record, {i.name: weights[i.source] if i.role == "weight" else next(given) for i in record.inputs}


def judged(record: GraphRecord, inputs: dict[str, Any]) -> Judged:
    (found,) = judge(record, inputs)
    return found


def each_element_would_pass(found: Judged, got: Any) -> bool:
    return bool((found.error_ulp(got) <= found.budget_ulp).all())


def images() -> nn.Module:
    torch.manual_seed(1)
    convolutions = (m for _ in range(6) for m in (nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()))
    return nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 32))


@pytest.mark.heavy
def test_a_small_network_with_shortened_operands_shows_though_its_scale_excuses_it() -> None:
    record, inputs = captured(images(), torch.randn(16, 32, 16, 16))
    found = judged(record, inputs)
    (short,) = evaluate(record, inputs, wide=False, operands=rounding("tf32"))
    assert each_element_would_pass(found, short), "or this would test nothing"
    assert not found.accepts(short)


def plain(record: GraphRecord, inputs: dict[str, Any]) -> Any:
    """Float32, every sum one term after the other."""
    x = inputs["input"]
    names = [i for i in record.inputs if i.role == "weight"]
    for weight, bias in zip(names[::2], names[1::2], strict=True):
        total = inputs[bias.name].expand(len(x), -1).clone()
        for term in range(x.shape[1]):
            total = total + x[:, term : term + 1] * inputs[weight.name][:, term]
        x = nn.functional.gelu(total)
    return x


@pytest.mark.heavy
@pytest.mark.parametrize("count", [1, 4, 10])
def test_float32_in_torchs_order_and_in_a_plain_one_passes(count: int) -> None:
    record, inputs = captured(layers(count), torch.randn(64, 48))
    found = judged(record, inputs)
    (torchs,) = evaluate(record, inputs, wide=False)
    for got in (torchs, plain(record, inputs)):
        assert found.accepts(got)
        assert rms(found.error_ulp(got)) < found.most_rms_ulp / 2


def test_the_noise_is_the_same_each_time_and_small() -> None:
    record, inputs = captured(layers(3), torch.randn(64, 48))
    (once,), (again,) = disturbed(record, inputs), disturbed(record, inputs)
    (exact,) = evaluate(record, inputs)
    assert torch.equal(once, again)
    assert 0 < float((once - exact).abs().max()) < 1e-4


@pytest.mark.heavy
def test_what_is_only_moved_is_not_disturbed_and_must_be_equal() -> None:
    record = capture_object(lambda x: x.flip(0).reshape(-1), (torch.randn(8, 8),), "moved")
    inputs = {"x": torch.randn(8, 8)}
    assert torch.equal(disturbed(record, inputs)[0], inputs["x"].double().flip(0).reshape(-1))
    assert judged(record, inputs).most_rms_ulp == float("inf")
