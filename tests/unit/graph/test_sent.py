"""What open indices may move: no more than they could, and no less, wherever they may lead."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.ops.pairs import Call, Pair  # noqa: E402
from kernellab.graph.ops.sent import Sent  # noqa: E402
from kernellab.graph.scale import judge  # noqa: E402

Make = Callable[[list[Any], Any], list[Any]]
"""The arguments of an operator for these indices and what is sent."""


def zeros(*shape: int) -> Any:
    return torch.zeros(shape, dtype=torch.float64)


FORMS: dict[str, tuple[str, Make, tuple[int, ...], tuple[tuple[int, ...], ...], tuple[int, ...], dict[str, Any]]] = {
    "scatter_add along the last axis": (
        "aten.scatter_add.default", lambda i, x: [zeros(5, 9), 1, i[0], x], (9,), ((5, 12),), (6, 20), {},
    ),
    "scatter_add from the end": (
        "aten.scatter_add.default", lambda i, x: [zeros(9, 4), -2, i[0], x], (9,), ((12, 4),), (12, 4), {},
    ),
    "index_add with a factor": (
        "aten.index_add.default", lambda i, x: [zeros(3, 9), 1, i[0], x], (9,), ((12,),), (3, 12), {"alpha": -2.0},
    ),
    "index_put with two indices": (
        "aten.index_put.default", lambda i, x: [zeros(7, 9), i, x, True], (7, 9), ((12,), (12,)), (12,), {},
    ),
    "index_put behind a whole axis": (
        "aten.index_put.default", lambda i, x: [zeros(3, 9), [None, *i], x, True], (9,), ((12,),), (3, 12), {},
    ),
    "index_put of one number": (
        "aten.index_put.default", lambda i, x: [zeros(9), i, x, True], (9,), ((12,),), (), {},
    ),
    "the gradient of an embedding": (
        "aten.embedding_dense_backward.default", lambda i, x: [x, i[0], 9, -1, False], (9,), ((4, 3),), (4, 3, 5), {},
    ),
}  # fmt: skip


def drawn(name: str, seed: int, far: float) -> tuple[Sent, Callable[[list[Any]], Any], list[Any], list[Any], Any]:
    """One in three indices is open, by up to `far`."""
    op, make, sizes, shapes, given, named = FORMS[name]
    dice = torch.Generator().manual_seed(seed)
    indices = [torch.randint(n, shape, generator=dice) for n, shape in zip(sizes, shapes, strict=True)]
    scales = [(torch.rand(i.shape, generator=dice) < 0.3).double() * far for i in indices]
    what = torch.randn(given, generator=dice, dtype=torch.float64)
    packet, overload = op.split(".")[1:]
    function = getattr(getattr(torch.ops.aten, packet), overload)

    def run(places: list[Any]) -> Any:
        return function(*make(places, what), **named)

    pairs = [Pair(i, s) for i, s in zip(indices, scales, strict=True)]
    args = [_paired(a, dict(zip(map(id, indices), pairs, strict=True))) for a in make(indices, what)]
    sent = Sent.of(Call(op, args, named, (run(indices),), 1e-7, torch, lambda a, k: function(*a, **k)))
    assert sent is not None
    return sent, run, indices, scales, what


def _paired(value: Any, pairs: dict[int, Pair]) -> Any:
    return [_paired(v, pairs) for v in value] if isinstance(value, list) else pairs.get(id(value), value)


@pytest.mark.parametrize("far", [1.0, 2.0])
@pytest.mark.parametrize("name", FORMS)
def test_wherever_open_indices_lead_every_place_stays_within_what_may_move(name: str, far: float) -> None:
    for seed in range(20):
        sent, run, indices, scales, what = drawn(name, seed, far)
        most = sent.may_move(what.abs())
        dice = torch.Generator().manual_seed(seed)
        for _ in range(10):
            steps = [torch.randint(-int(far), int(far) + 1, i.shape, generator=dice) * (s > 0)
                     for i, s in zip(indices, scales, strict=True)]  # fmt: skip
            other = [(i + s) % n for i, s, n in zip(indices, steps, FORMS[name][2], strict=True)]
            assert ((run(other) - run(indices)).abs() <= most + 1e-9).all()


@pytest.mark.parametrize("name", FORMS)
def test_at_home_is_the_operator_itself(name: str) -> None:
    sent, run, indices, _, what = drawn(name, 1, 1.0)
    assert torch.equal(sent.added(sent.at_home, what), run(indices))


def test_one_open_index_widens_its_own_neighbours_alone() -> None:
    index, scale = torch.tensor([2, 7, 7, 4]), torch.tensor([0.0, 1.0, 0.0, 0.0]).double()
    args = [zeros(9), 0, Pair(index, scale), torch.full((4,), 3.0)]
    call = Call("aten.scatter_add.default", args, {}, (zeros(9),), 1e-7, torch, lambda a, k: None)
    sent = Sent.of(call)
    assert sent is not None
    assert sent.may_move(torch.full((4,), 3.0)).tolist() == [0, 0, 0, 0, 0, 0, 3, 3, 3]


@pytest.mark.parametrize("far", [40.0, math.inf])
def test_what_may_go_far_may_go_anywhere_along_its_axis(far: float) -> None:
    index, scale = torch.tensor([[2, 7], [7, 4]]), torch.tensor([[0.0, far], [0.0, 0.0]]).double()
    args = [zeros(2, 9), 1, Pair(index, scale), torch.ones(2, 2)]
    sent = Sent.of(Call("aten.scatter_add.default", args, {}, (zeros(2, 9),), 1e-7, torch, lambda a, k: None))
    assert sent is not None
    most = sent.may_move(torch.ones(2, 2))
    assert (most[0] >= 1).all()
    assert (most[1] == 0).all()


def test_masks_have_no_neighbours() -> None:
    args = [zeros(9), [Pair(torch.ones(9) > 0, zeros(9))], torch.ones(9), True]
    assert Sent.of(Call("aten.index_put.default", args, {}, (zeros(9),), 1e-7, torch, lambda a, k: None)) is None


def whole(x: Any) -> Any:
    place = (x * 1000).long().clamp(0, 999)
    return torch.zeros(1000, dtype=torch.int64).scatter_add(0, place, torch.ones_like(place))


def weighted(x: Any) -> Any:
    place = (x * 1000).long().clamp(0, 999)
    return torch.zeros(1000).index_add(0, place, torch.full_like(x, 3.0))


def judged_by_value(x: Any) -> Any:
    """Whether each is counted is open too."""
    place = (torch.arange(x.numel()) % 1000).long()
    return torch.zeros(1000, dtype=torch.int64).index_add(0, place, (torch.tanh(x) > 0.4).long())


@pytest.mark.parametrize("function", [whole, weighted, judged_by_value])
def test_a_histogram_of_many_numbers_is_held_place_by_place(function: Any) -> None:
    x = torch.rand(1 << 19, generator=torch.Generator().manual_seed(5))
    record = capture_object(function, (x,))
    (verdict,) = judge(record, {record.inputs[0].name: x})
    honest, right = (
        evaluate(record, {record.inputs[0].name: x}, wide=False)[0],
        evaluate(record, {record.inputs[0].name: x})[0],
    )
    assert verdict.accepts(honest)
    on_average = torch.full_like(honest, round(float(right.double().mean())))
    for wrong in (on_average, honest * 0, honest // 8 * 8 if honest.dtype == torch.int64 else honest - 64):
        assert not verdict.accepts(wrong)
