"""What is sent somewhere and added up there, recognised; and what only looks like it, not."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.lower.c_candidate import c_candidates  # noqa: E402
from kernellab.lower.fusion import Fusion, fuse  # noqa: E402
from kernellab.lower.sends import Send, send_of  # noqa: E402


def sends(subject: Any, *given: Any) -> list[Send | None]:
    return [send_of(stores) for stores in _fused(subject, *given).kernels]


def _fused(subject: Any, *given: Any) -> Fusion:
    record = capture_object(subject, given, "subject")
    return fuse(record, {symbol.name: 9 for symbol in record.symbols})


def _index(x: Any) -> Any:
    return (x * 4).to(torch.int64)


def test_a_sum_of_what_was_sent_is_one() -> None:
    found = sends(lambda x: x.new_ones(5, 4).scatter_add(1, _index(x), x), torch.rand(5, 9))[-1]
    assert found is not None
    assert found.along not in found.spot.free | found.body.free
    assert len(found.whole.axes) == 1


@pytest.mark.heavy
def test_rows_that_the_indices_do_not_reach_are_bounds_of_it() -> None:
    found = sends(lambda x, y: y.scatter_add(0, _index(x), x), torch.rand(3, 2), torch.rand(4, 6))[-1]
    assert found is not None
    assert len(found.bounds) == 1


@pytest.mark.heavy
@pytest.mark.parametrize(
    "subject",
    [
        lambda x: x.new_zeros(5, 4).scatter_reduce(1, _index(x), x, "amax"),
        lambda x: x.sum(1),
        lambda x: torch.where(x > 0.5, x, 0.0).sum(1),
        lambda x: x.new_zeros(5, 4).scatter_add(1, _index(x), x) * 2,
    ],
    ids=["a maximum", "a plain sum", "a sum under a condition", "twice what was sent"],
)
def test_what_is_no_sum_of_what_was_sent_is_not(subject: Any) -> None:
    assert sends(subject, torch.rand(5, 9))[-1] is None


@pytest.mark.heavy
def test_what_has_no_type_to_add_up_in_keeps_its_other_forms() -> None:
    def subject(x: Any) -> Any:
        return x.new_zeros(5, 4).scatter_add(1, _index(x.float()), x)

    found = c_candidates(_fused(subject, torch.rand(5, 9).to(torch.bfloat16)))
    assert found
    assert not any(w.name.startswith("send") for w in found)
