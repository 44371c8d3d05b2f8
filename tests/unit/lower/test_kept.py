"""In 16 bits is kept what the module has in 16 bits, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from kernellab.graph.capture_job import warm  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.lower.inline import Graph  # noqa: E402
from kernellab.lower.kept import Kept  # noqa: E402


def kept(function: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = torch.bfloat16) -> tuple[Kept, list[str]]:
    """And the types of the nodes between inputs and outputs, in order."""
    warm()
    record = capture_object(function, tuple(torch.rand(s).to(dtype) for s in shapes), "subject")
    graph = Graph(record)
    inside = [key for node in record.nodes for key in [(node.name, 0)] if key not in graph.outputs]
    return graph.kept, [graph.kept.dtype(key) for key in inside]


def test_a_copy_in_more_bits_holds_no_more() -> None:
    _, types = kept(lambda x: x.relu().float().view(4, 3).exp(), (3, 4))
    assert types == ["bfloat16"] * 3


def test_what_is_only_ever_rounded_is_kept_rounded() -> None:
    """Behind a view too; what something else uses in full is kept in full."""
    _, types = kept(lambda x: x.float().exp().view(4, 3).bfloat16().relu(), (3, 4))
    assert types == ["bfloat16"] * 4
    _, types = kept(lambda x: (wide := x.float().exp()).bfloat16().relu() + wide.sum(), (3, 4))
    assert types == ["bfloat16", "float32", "bfloat16", "bfloat16", "float32"]


def test_an_output_has_the_type_that_was_asked_for() -> None:
    graph = Graph(capture_object(lambda x: (x.float(), x.float().bfloat16() + 1), (torch.rand(3).bfloat16(),), "both"))
    assert [graph.kept.dtype(key) for key in graph.outputs] == ["float32", "bfloat16"]


def test_two_ways_of_rounding_are_none() -> None:
    _, types = kept(lambda x: (wide := x.exp()).bfloat16().float() + wide.half().float(), (3, 4), dtype=torch.float32)
    assert types[0] == "float32"


@pytest.mark.parametrize(
    ("function", "factors"),
    [
        (lambda a, b: a @ b, "bfloat16"),
        (lambda a, b: (a.float() * 0.5) @ b.float(), "bfloat16"),
        (lambda a, b: a.float().exp() @ b.float(), ""),
        (lambda a, b: (a.exp().float() @ b.float()).bfloat16(), "bfloat16"),
        (lambda a, b: (a.half() @ b.half()) + (a @ b), ""),
        (lambda a, b: functional.scaled_dot_product_attention(a * 2, b, b), "bfloat16"),
        (lambda a, b: torch.softmax(a.float() @ b.float(), -1) @ (b.float() + 0.1), ""),
        (lambda a, b: a + b, ""),
    ],
)  # fmt: skip
def test_factors_are_short_where_all_were(function: Callable[..., Any], factors: str) -> None:
    assert kept(function, (2, 16, 16), (2, 16, 16))[0].factors == factors
