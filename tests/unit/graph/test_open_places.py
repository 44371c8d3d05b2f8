"""Indices that rounding decides: what is read and written by them is open there, and everything else is as sharp as ever.

Once the honest implementation's other decision widened the budget of all elements, until zeros passed at large shapes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.ops import table as operators  # noqa: E402
from kernellab.graph.ops.open_places import unsure  # noqa: E402
from kernellab.graph.ops.rules import same  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.graph.scale import judge  # noqa: E402
from kernellab.graph.steady import most_ulp  # noqa: E402


def drawn(*shapes: tuple[int, ...], seed: int = 3) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def captured(function: Any, *inputs: Any) -> tuple[GraphRecord, dict[str, Any]]:
    record = capture_object(function, inputs)
    return record, dict(zip([i.name for i in record.inputs], inputs, strict=True))


def by_score(x: Any, y: Any, z: Any) -> Any:
    return torch.gather(y, 1, torch.sort(x * z + x, dim=1)[1]) * 2.7


def put_by_score(x: Any, y: Any, z: Any) -> Any:
    return torch.zeros_like(y).scatter(1, torch.sort(x * z + x, dim=1)[1], y) * 2.7


def fused(x: Any, y: Any, z: Any) -> Any:
    """The score as one multiply-add gives it: another rounding, and here and there another order."""
    return (x.double() * z.double() + x.double()).float().sort(dim=1)[1]


def undecided() -> tuple[Any, ...]:
    """Inputs whose order in float32 is another than in float64: some are near enough, whatever this machine's roundings."""
    for seed in range(100):
        x, y, z = drawn((1024, 512), (1024, 512), (1024, 512), seed=seed)
        wide = (x.double() * z.double() + x.double()).sort(dim=1)[1]
        if not torch.equal(wide, torch.sort(x * z + x, dim=1)[1]):
            return x, y, z
    raise AssertionError("no such inputs")


@pytest.mark.heavy
@pytest.mark.parametrize("function", [by_score, put_by_score], ids=["read", "written"])
def test_by_an_order_that_rounding_decides_other_orders_pass_and_zeros_do_not(function: Any) -> None:
    inputs = drawn((1024, 512), (1024, 512), (1024, 512))
    x, y, z = inputs
    record, given = captured(function, *inputs)
    (verdict,) = judge(record, given)
    order = fused(*inputs)
    assert not torch.equal(order, torch.sort(x * z + x, dim=1)[1]), "or this would test nothing"
    read = function is by_score
    honest = (y.gather(1, order) if read else torch.zeros_like(y).scatter(1, order, y)) * 2.7
    assert verdict.accepts(honest)
    assert verdict.budget_ulp < 40
    right = evaluate(record, given)[0]
    for wrong in (right * 0, right / 2, right.bfloat16()):
        assert not verdict.accepts(wrong.float())


def test_a_table_read_by_a_nearest_code_is_open_where_two_are_as_near() -> None:
    codes, (x,) = torch.tensor([[1.0, 0.1], [-1.0, 0.1], [0.0, 9.0]]), drawn((64, 2))
    x[5] = torch.tensor([0.0, 0.3])

    def nearest(x: Any, codes: Any) -> Any:
        return codes[((x[:, None, :] - codes[None]) ** 2).sum(-1).argmin(1)]

    (verdict,) = judge(*captured(nearest, x, codes))
    found = nearest(x, codes)
    assert verdict.accepts(found)
    other = found.clone()
    other[5] = codes[0] + codes[1] - found[5]
    assert verdict.accepts(other)
    other[6] = codes[0] + codes[1] - found[6]
    assert not verdict.accepts(other)


def test_the_furthest_that_an_open_index_leads_to_is_rounded_as_all_are() -> None:
    y, score = torch.linspace(-7.1, 9.3, 64), torch.zeros(64)
    record, given = captured(lambda score, y: y[(score * 0.1).sort()[1]] * 2.7 - y * 0.3, score, y)
    (verdict,) = judge(record, given)
    assert verdict.accepts(y.flip(0) * 2.7 - y * 0.3)


@pytest.mark.heavy
def test_a_decision_that_no_rule_tells_of_excuses_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    record, given = captured(by_score, *undecided())
    rows = dict(operators.table())
    rows["aten.gather"] = replace(rows["aten.gather"], scale=same)
    monkeypatch.setattr(operators, "table", lambda: rows)
    (verdict,) = judge(record, given)
    right = evaluate(record, given)[0]
    assert verdict.wanted_ulp > 1e6, "or this would test nothing"
    assert verdict.budget_ulp <= most_ulp(verdict.floor_ulp, 2.0**-23, ieee=True)
    assert verdict.accepts(evaluate(record, given, wide=False)[0])
    for wrong in (right * 0, right / 2, right.bfloat16()):
        assert not verdict.accepts(wrong.float())


@pytest.mark.heavy
def test_where_one_decision_moves_everything_nothing_is_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two scores that are the same, and are not in float32: the first is larger by its last bit."""
    rows = dict(operators.table())
    rows["aten.index_select"] = replace(rows["aten.index_select"], scale=same)
    monkeypatch.setattr(operators, "table", lambda: rows)
    (y,) = drawn((2, 256))
    score = torch.tensor([0.1 * 3, 0.3]).double().float()

    def chosen(score: Any, y: Any) -> Any:
        return y.index_select(0, (score * 0.1 + score * 0.2).argmax().reshape(1)) * 2.7

    record, given = captured(chosen, score, y)
    (verdict,) = judge(record, given)
    assert verdict.budget_ulp <= 1024
    assert not verdict.accepts(evaluate(record, given)[0].float() * 0)


def test_unsure_is_whoever_may_be_passed_by_another() -> None:
    value = torch.tensor([[5.0, 1.0, 2.0, 3.0, float("-inf"), 1.0]])
    reach = torch.tensor([[0.0, 0.0, 0.0, 1.5, 0.0, 0.0]])
    assert unsure(value, reach, 1).tolist() == [[False, True, True, True, False, True]]
    assert unsure(torch.tensor(1.0), torch.tensor(0.0), 0).tolist() is False


def test_a_short_type_has_a_few_ulp_at_most() -> None:
    assert most_ulp(4.0, 2.0**-7, ieee=True) == 16
    assert most_ulp(4.0, 2.0**-23, ieee=True) == 256
    assert most_ulp(4.0 * 2**16, 2.0**-23, ieee=False) == 2.0**20


@pytest.mark.heavy
def test_gradients_of_a_sort_are_judged() -> None:
    """The gradient goes back to where each element came from, which rounding decides too."""
    x, z, grad = drawn((1024, 512), (1024, 512), (1024, 512))

    class Back(nn.Module):
        def forward(self, x: Any, z: Any, grad: Any) -> Any:
            order = torch.sort(x * z + x, dim=1)[1]
            back = torch.zeros_like(grad).scatter(1, order, grad)
            return back * x, back * z + back

    record, given = captured(Back(), x, z, grad)
    for verdict, right in zip(judge(record, given), evaluate(record, given), strict=True):
        assert verdict.accepts(right.float())
        assert not verdict.accepts(right.float() * 0)


def test_the_largest_of_booleans_has_an_index_too() -> None:
    """As gradients of a running product look for the first zero."""
    (verdict, place) = judge(*captured(lambda x: (x == 0).max(dim=1), torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])))
    assert verdict.accepts(torch.tensor([True, True]))
    assert place.accepts(torch.tensor([1, 0]))
    assert not place.accepts(torch.tensor([2, 0]))


def test_what_a_type_cannot_hold_is_an_infinity_and_excuses_nothing() -> None:
    """Such an element of torch's own had made a budget without an end."""
    x = torch.linspace(-3, 3, 256)
    x[7] = 200.0
    record, given = captured(torch.exp, x)
    (verdict,) = judge(record, given)
    right = evaluate(record, given)[0].float()
    assert right[7] == float("inf")
    assert verdict.accepts(right)
    assert verdict.budget_ulp < 40
    assert not verdict.accepts(right * 1.01)
    right[7] = 1e38
    assert not verdict.accepts(right)


def test_a_mask_that_is_put_where_equal_elements_are_ordered_is_open_there() -> None:
    """Seen: the mask of a nucleus (top-p), put back in the order of the scores, was taken for decided where those are equal."""

    def mask(x: Any) -> Any:
        values, order = torch.sort(x, -1, descending=True)
        return torch.zeros_like(x, dtype=torch.bool).scatter(-1, order, values.cumsum(-1) > 5.5)

    x = torch.tensor([[4.0, 1.0, 3.0, 1.0, 2.0]])
    [verdict] = judge(capture_object(mask, (x,)), {"x": x})
    assert verdict.accepts(torch.tensor([[False, True, True, True, True]]))
    again = torch.tensor([[4.0, 1.0, 0.5, 1.0, -2.0]])
    [verdict] = judge(capture_object(mask, (x,)), {"x": again})
    assert verdict.accepts(torch.tensor([[False, False, True, True, False]]))
    assert verdict.accepts(torch.tensor([[False, True, True, False, False]]))
    assert not verdict.accepts(torch.tensor([[True, False, True, True, False]]))
