"""Which type's rounding a graph owes."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import EPS, GraphRecord  # noqa: E402
from kernellab.graph.rounding import inner_eps, narrowing  # noqa: E402
from kernellab.graph.scale import judge  # noqa: E402

_X, _W = (torch.randn(8, 64, generator=torch.Generator().manual_seed(s)).bfloat16() for s in (0, 1))


def record_of(function: Any, *inputs: torch.Tensor) -> GraphRecord:
    return capture_object(function, inputs)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda x, w: x @ w.T, "float32"),
        (lambda x, w: (x.float() + w.float()).bfloat16(), "float32"),
        (lambda x, w: (x.float() @ w.float().T).relu().bfloat16(), "float32"),
        (lambda x, w: (x + w) * x, "bfloat16"),
        (lambda x, w: ((x.float() * 2.5) @ w.float().T).bfloat16(), "bfloat16"),
    ],
    ids=["one product", "rounded once", "exact operands", "rounded between", "a computed operand"],
)
def test_the_coarsest_rounding_on_the_way(function: Any, dtype: str) -> None:
    assert inner_eps(record_of(function, _X, _W)) == EPS[dtype]


@pytest.mark.heavy
def test_a_product_of_short_floats_owes_the_accuracy_of_its_sum() -> None:
    record = record_of(lambda x, w: x @ w.T, _X, _W)
    (verdict,) = judge(record, dict(zip([i.name for i in record.inputs], (_X, _W), strict=True)))
    right = _X.double() @ _W.double().T
    assert verdict.accepts(right.bfloat16())
    assert verdict.accepts(_X @ _W.T)
    assert not verdict.accepts((right * 1.05).bfloat16())
    assert not verdict.accepts((right + 0.05 * right.abs().max()).bfloat16())


@pytest.mark.heavy
def test_a_chain_in_short_floats_is_held_to_the_honest_mean_error() -> None:
    record = record_of(lambda x, w: (x @ w.T).relu() @ x, _X, _W)
    (verdict,) = judge(record, dict(zip([i.name for i in record.inputs], (_X, _W), strict=True)))
    assert verdict.accepts((_X @ _W.T).relu() @ _X)
    assert not verdict.accepts(torch.zeros(8, 64).bfloat16())


def test_narrowing_data_rounds_them() -> None:
    x = torch.randn(4, 8)
    record = record_of(lambda x: x.bfloat16(), x)
    assert narrowing(record) == {record.nodes[0].name}
    (verdict,) = judge(record, {record.inputs[0].name: x})
    assert verdict.accepts(x.bfloat16())


@pytest.mark.heavy
def test_what_is_only_moved_must_be_equal() -> None:
    x = torch.randn(4, 8)
    record = record_of(lambda x: x.T.contiguous(), x)
    (verdict,) = judge(record, {record.inputs[0].name: x})
    assert verdict.accepts(x.T)
    assert not verdict.accepts(torch.nextafter(x.T, x.T * 2))
