"""Kernels of one shape that read the same are one, where that is right and faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.lower.fusion import Fusion, fuse  # noqa: E402
from kernellab.lower.inline import tensor_name  # noqa: E402
from kernellab.lower.join import Kernel, joined  # noqa: E402
from kernellab.lower.values import Load, walk  # noqa: E402


def one_launch(kernel: Kernel) -> float:
    return 1.0


def made(subject: Callable[..., Any], *inputs: Any, seconds: Callable[[Kernel], float] = one_launch) -> Fusion:
    record = capture_object(subject, inputs, "subject")
    return joined(fuse(record, {s.name: s.example for s in record.symbols}), seconds)


def results(fusion: Fusion) -> list[int]:
    """How many tensors each kernel makes."""
    return [len(stores) for stores in fusion.kernels]


def test_results_of_one_shape_are_made_together() -> None:
    x, y = torch.rand(33, 76), torch.rand(33, 76)
    assert results(made(lambda x, y: (x * y, x + y, x - y), x, y)) == [3]


def test_what_is_a_result_and_is_used_is_taken_from_registers() -> None:
    def subject(x: Any, y: Any) -> Any:
        h = x + y
        return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6), h

    (stores,) = made(subject, torch.rand(33, 76), torch.rand(33, 76)).kernels
    read = {v.tensor for s in stores for v in walk(s.value) if isinstance(v, Load)}
    assert read == {"x", "y"}
    assert len(stores) == 2


def test_other_shapes_and_products_stay_apart() -> None:
    x, w = torch.rand(33, 76), torch.rand(76, 76)
    assert len(made(lambda x: (x.sum(-1), x * 2), x).kernels) == 2
    assert len(made(lambda x, w: (x @ w, x * 2), x, w).kernels) == 2


def test_rows_and_columns_are_not_reduced_in_one_kernel() -> None:
    def subject(x: Any) -> Any:
        return x - x.mean(-1, keepdim=True), x - x.mean(0, keepdim=True)

    found = made(subject, torch.rand(33, 76)).kernels
    assert not any({"sub", "sub_1"} <= {tensor_name(s.tensor) for s in stores} for stores in found)


def test_a_kernel_waits_for_what_it_reads() -> None:
    """The sums of columns are made between: who needs them comes behind them, whoever it is joined with."""

    def subject(x: Any) -> Any:
        return x * 2, x / x.sum(0)

    first, second = made(subject, torch.rand(33, 76)).kernels
    assert [len(s.axes) for s in first] == [1]
    assert len(second) == 2


def test_where_the_estimate_says_no_they_stay_apart() -> None:
    x = torch.rand(33, 76)
    assert results(made(lambda x: (x * 2, x + 1), x, seconds=lambda kernel: float(len(kernel) ** 2))) == [1, 1]


def test_a_kernel_has_no_more_results_than_a_few() -> None:
    assert results(made(lambda x: tuple(x * n for n in range(2, 11)), torch.rand(33, 76))) == [6, 3]
