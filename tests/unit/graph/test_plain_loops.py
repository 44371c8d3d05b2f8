"""Sums inside of graphs: plain float32 loops pass under sparse inputs, and what a sum may lose is no licence for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.scale import Judged, judge  # noqa: E402
from kernellab.tasks.modules.oracle import rounding  # noqa: E402

ROWS, LENGTH = 16, 4096


def judged(function: Callable[..., Any], *inputs: Any) -> Judged:
    record = capture_object(function, inputs, "sums")
    (found,) = judge(record, dict(zip([i.name for i in record.inputs], inputs, strict=True)))
    return found


def running(values: Any) -> Any:
    return torch.from_numpy(np.add.accumulate(values.numpy(), axis=1, dtype=np.float32))


def in_turn(values: Any) -> Any:
    """One term after the other."""
    return running(values)[:, -1:]


def sparse() -> Any:
    own = torch.Generator().manual_seed(4)
    return torch.randn(ROWS, LENGTH, generator=own) * (torch.rand(ROWS, LENGTH, generator=own) < 4 / LENGTH)


def online(x: Any) -> tuple[Any, Any]:
    """The largest so far, and the sum that is scaled anew whenever it changes."""
    top, total = x[:, :1], torch.ones(len(x), 1)
    for column in x[:, 1:].split(1, 1):
        most = torch.maximum(top, column)
        total, top = total * (top - most).exp() + (column - most).exp(), most
    return top, total


def shifted(x: Any) -> tuple[Any, Any]:
    top = x.amax(1, keepdim=True)
    return top, in_turn((x - top).exp())


def unshifted(x: Any) -> tuple[Any, Any]:
    return x[:, :1] * 0, in_turn(x.exp())


ENDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any]]] = {
    "softmax": (lambda x: torch.softmax(x, 1), lambda x, top, total: (x - top).exp() / total),
    "log_softmax": (lambda x: torch.log_softmax(x, 1), lambda x, top, total: x - top - total.log()),
    "logsumexp": (lambda x: torch.logsumexp(x, 1, keepdim=True), lambda x, top, total: top + total.log()),
}


@pytest.mark.heavy
@pytest.mark.parametrize("way", [shifted, online, unshifted])
@pytest.mark.parametrize("name", ENDS)
def test_a_softmax_of_many_equal_numbers_may_be_added_in_turn(name: str, way: Callable[[Any], Any]) -> None:
    function, end = ENDS[name]
    x = sparse()
    found = judged(function, x)
    assert found.accepts(end(x, *way(x)))
    top = x.amax(1, keepdim=True)
    short = (x - top).exp().bfloat16().float().sum(1, keepdim=True)
    assert not found.accepts(end(x, top, short)), "terms in bfloat16"


def test_a_running_sum_is_a_plain_loop() -> None:
    x = torch.randn(ROWS, LENGTH, generator=torch.Generator().manual_seed(5))
    found = judged(lambda x: torch.cumsum(x.clamp(max=-0.1), 1), x)
    assert found.accepts(running(x.clamp(max=-0.1)))
    assert not found.accepts(running(rounding("tf32")(x).clamp(max=-0.1)))


class Weighed(nn.Module):
    """Two layers, times something that is summed over all of the input."""

    def __init__(self, weigh: Callable[[Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.weigh = nn.Linear(64, 512), nn.Linear(512, 16), weigh

    def forward(self, x: Any) -> Any:
        return self.b(F.relu(self.a(x))) * self.weigh(x)


WEIGHTS: dict[str, Callable[[Any], Any]] = {
    "a count": lambda x: (x > -1).to(x.dtype).mean(),
    "signs": lambda x: 2 + torch.sign(x).mean(),
    "steps": lambda x: torch.round(x * 4).mean() + 3,
    "what is cut off": lambda x: x.clamp(max=-0.1).mean(),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", WEIGHTS)
def test_a_factor_that_is_a_long_sum_is_no_licence_for_short_operands(name: str) -> None:
    """Once TF32 passed: half an ULP for each of the ones was allowed to all that was multiplied with their number."""
    module, x = Weighed(WEIGHTS[name]), torch.randn(600, 64, generator=torch.Generator().manual_seed(6))
    record = capture_object(module, (x,), "weighed")
    held = {**dict(module.named_parameters()), "x": x}
    (found,) = judge(record, {i.name: held[i.source or i.name].detach() for i in record.inputs})
    short = rounding("tf32")
    with torch.no_grad():
        hidden = F.relu(module.a(x))
        wrong = F.linear(short(hidden), short(module.b.weight), module.b.bias) * module.weigh(x)
        assert found.accepts(module(x))
    assert not found.accepts(wrong)
