from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.graph.conftest import record_of  # noqa: E402
from tests.unit.graph.draws import DISTRIBUTIONS, drawn, kept_bits, named  # noqa: E402
from tests.unit.graph.modules import CASES  # noqa: E402
from tests.unit.tasks.modules import graphs  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.ops import table as operators  # noqa: E402
from kernellab.graph.ops.pairs import in_memory  # noqa: E402
from kernellab.graph.record import Ref  # noqa: E402
from kernellab.graph.scale import judge, propagate, rms  # noqa: E402

_PRECISE = [name for name, case in CASES.items() if case.precise]


def honest(name: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    with torch.no_grad():
        result = CASES[name].subject(*inputs)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.sample(9, of="modules")
@pytest.mark.parametrize("name", CASES)
def test_honest_float32_passes_on_every_distribution(name: str) -> None:
    """Within small budgets: an honest error of many ULP would widen one until nothing fails, and is a rule gone wrong. A sparse
    row less its mean is one number repeated, of which each addition may cost half an ULP."""
    record, case = record_of(name), CASES[name]
    for seed, distribution in enumerate(DISTRIBUTIONS):
        inputs = drawn(case, distribution, seed)
        judged = judge(record, named(record, case, inputs))
        for number, (verdict, got) in enumerate(zip(judged, honest(name, inputs), strict=True)):
            assert verdict.accepts(got), (distribution, number)
            most = 200 if distribution == "sparse" else 40
            assert verdict.budget_ulp <= most, (distribution, number, verdict.budget_ulp)
            assert verdict.unscaled == ()


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("bits", [10, 7], ids=["tf32", "bf16"])
@pytest.mark.parametrize("name", _PRECISE)
def test_products_of_rounded_operands_fail(name: str, bits: int) -> None:
    """On the distributions together: one that shows it is enough, for a verdict is over all of them."""
    record, case = record_of(name), CASES[name]
    shown = []
    for seed, distribution in enumerate(("normal", "sparse", "signed")):
        given = named(record, case, drawn(case, distribution, seed))
        rounded = evaluate(record, given, wide=False, operands=kept_bits(bits))
        shown.append([not v.accepts(got) for v, got in zip(judge(record, given), rounded, strict=True)])
    assert all(any(column) for column in zip(*shown, strict=True))


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("arguments", "sorts", "masks", "gathers", "layouts")])
def test_half_precision_outputs_fail(name: str) -> None:
    record, case = record_of(name), CASES[name]
    given = named(record, case)
    exact = evaluate(record, given)
    for verdict, value in zip(judge(record, given), exact, strict=True):
        assert verdict.accepts(value.float())
        assert value.numel() == 1 or not verdict.accepts(value.bfloat16().float())


def _judged(function: Any, *inputs: Any) -> Any:
    record = capture_object(function, inputs)
    names = [i.name for i in record.inputs]
    return judge(record, dict(zip(names, inputs, strict=True)))


def test_a_step_within_reach_may_fall_either_way() -> None:
    x = torch.tensor([0.1, 0.2, 0.7])
    (verdict,) = _judged(lambda x: torch.where(x * 3.0 > torch.full_like(x, 0.3), x + 1, x - 1), x)
    other = torch.where(torch.tensor([False, True, True]), x + 1, x - 1)
    turned = torch.where(torch.tensor([True, False, True]), x + 1, x - 1)
    assert verdict.accepts(other)
    assert not verdict.accepts(turned)


@pytest.mark.heavy
def test_an_exact_comparison_is_decided() -> None:
    x = torch.tensor([0.0, 1.0, -1.0, 1e-30])
    (verdict,) = _judged(lambda x: (x > 0).float(), x)
    assert verdict.accepts(torch.tensor([0.0, 1.0, 0.0, 1.0]))
    assert not verdict.accepts(torch.tensor([0.0, 1.0, 0.0, 0.0]))


def test_any_index_of_a_tie_passes_and_no_other() -> None:
    x = torch.tensor([[1.0, 3.0, 3.0, 2.0]])
    (verdict,) = _judged(lambda x: x.argmax(1), x)
    assert verdict.accepts(torch.tensor([1]))
    assert verdict.accepts(torch.tensor([2]))
    assert not verdict.accepts(torch.tensor([3]))
    assert not verdict.accepts(torch.tensor([9]))


def test_winners_within_the_rounding_of_a_sum_pass() -> None:
    x = torch.tensor([[0.1, 0.2, 0.3, 0.0], [0.3, 0.2, 0.1, 0.0], [0.0, 0.5, 0.0, 0.0]])
    (verdict,) = _judged(lambda x: x.sum(1).argmax(), x)
    assert verdict.accepts(torch.tensor(0))
    assert verdict.accepts(torch.tensor(1))
    assert not verdict.accepts(torch.tensor(2))


def test_a_running_sum_of_a_heavy_tail_is_honest() -> None:
    """Four ULP and the root of the participation number of SUITES' first rule would refuse it: terms are counted instead."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 1024, generator=generator) / torch.rand(64, 1024, generator=generator) ** (1 / 1.2)
    x[:, 0] = x.abs().amax(1) * 100
    (verdict,) = _judged(lambda x: x.sum(1), x)
    total = torch.zeros(64)
    for column in x.T:
        total = total + column
    size = x.double().abs()
    participation = float(((size.sum(1) ** 2) / (size**2).sum(1)).max())
    error = float(verdict.error_ulp(total).max())
    assert error > 4 + participation**0.5
    assert error <= verdict.budget_ulp


def test_infinities_must_match() -> None:
    x = torch.tensor([-1.0, 0.0, 4.0])
    (verdict,) = _judged(lambda x: torch.log(x), x)
    assert verdict.accepts(torch.log(x))
    assert not verdict.accepts(torch.tensor([float("nan"), 0.0, float(torch.log(x)[2])]))
    assert not verdict.accepts(torch.tensor([0.0, float("-inf"), float(torch.log(x)[2])]))


def test_another_shape_is_refused() -> None:
    (verdict,) = _judged(lambda x: x * 2, torch.ones(3))
    assert not verdict.accepts(torch.full((1,), 2.0))


def test_an_operator_without_a_rule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.rand(4, 5) + 1
    record = capture_object(lambda x: torch.tanh(x).sum(1), (x,))
    rows = dict(operators.table())
    rows["aten.tanh"] = operators.Op("aten.tanh", "pointwise", None, None)
    monkeypatch.setattr(operators, "table", lambda: rows)
    (verdict,) = judge(record, {record.inputs[0].name: x})
    assert verdict.unscaled == ("aten.tanh.default",)
    assert verdict.accepts(torch.tanh(x).sum(1))


def test_short_floats_are_counted_in_their_own_ulp() -> None:
    x = torch.randn(16, 64, generator=torch.Generator().manual_seed(0)).bfloat16()
    record = capture_object(lambda x: x.softmax(-1), (x,))
    (verdict,) = judge(record, {"x": x})
    assert verdict.accepts(x.softmax(-1))
    assert not verdict.accepts(x.softmax(-1) * 1.2)


def test_a_wrong_tile_is_not_lost_among_what_is_right() -> None:
    error = torch.ones(64 * 200, dtype=torch.float64)
    assert rms(error) == 1.0
    error[64 * 7 : 64 * 8] = 40.0
    assert rms(error) == 40.0
    assert rms(torch.cat([torch.ones(64), 9 * torch.ones(20)])) == 9.0
    assert rms(torch.cat([torch.ones(64), 9 * torch.ones(3)])) == 1.0, "too few to say anything"
    assert rms(torch.zeros(0)) == 0.0


def test_what_underflows_on_the_way_may_be_flushed_to_zero() -> None:
    """silu(-95) * 1e3 in float32: exp(-95) has no bits left there, in float64 it has all of them."""
    record = capture_object(lambda x, y: torch.nn.functional.silu(x) * y, [torch.randn(3, 4), torch.randn(3, 4)])
    x, y = torch.full((3, 4), -95.0), torch.full((3, 4), 1000.0)
    (judged,) = judge(record, dict(zip([i.name for i in record.inputs], (x, y), strict=True)))
    assert judged.accepts(torch.zeros(3, 4))
    assert not judged.accepts(torch.full((3, 4), -1e-30))


def test_a_running_product_that_was_too_small_for_its_type_may_have_lost_digits_for_good() -> None:
    """Down to a subnormal number and up again: in one order digits are gone, in another all of it. An error where nothing was
    small is seen as ever."""
    x = torch.rand(3, 200) + 0.5
    x[0, 100:140] = 0.1
    x[0, 140:170] = 10.0
    x[1, 50:120] = 0.1
    x[1, 120:150] = 10.0
    (verdict,) = _judged(lambda x: torch.cumprod(x, 1), x)
    running, flushed = [torch.ones(3)], [torch.ones(3)]
    for factor in x.T:
        running.append(running[-1] * factor)
        after = flushed[-1] * factor
        flushed.append(torch.where(after.abs() < torch.finfo(torch.float32).tiny, 0.0, after))
    for made in (running, flushed):
        assert verdict.accepts(torch.stack(made[1:], 1))
    wrong = torch.stack(running[1:], 1)
    wrong[2, 150] *= 1.001
    assert not verdict.accepts(wrong)


def test_a_zero_that_was_decided_stays_decided() -> None:
    """relu of what is clearly negative: nothing about it is open, and a mask of it neither."""
    record = capture_object(lambda x: torch.relu(x * 1.5 + 0.25) > 0, [torch.randn(3, 4)])
    (pair,), _ = propagate(record, {record.inputs[0].name: torch.full((3, 4), -2.0)})
    assert float(pair.scale.max()) == 0.0


def _centred(x: Any, mean: Callable[[Any], Any]) -> Any:
    wave = torch.sin(x)
    return wave - mean(wave)


def _running(x: Any) -> Any:
    total = torch.zeros(len(x))
    for column in x.T:
        total = total + column
    return (total / x.shape[1])[:, None]


SQUARES: dict[str, Callable[[Any], Any]] = {
    "times itself": lambda d: d * d,
    "power": lambda d: d**2,
    "square": torch.square,
    "mean of products": lambda d: (d * d).mean(-1),
    "product summed": lambda d: torch.einsum("ij,ij->i", d, d),
    "matrix product": lambda d: d @ d.T,
    "with a factor added": lambda d: torch.addcmul(d, d, d),
}


@pytest.mark.heavy
@pytest.mark.parametrize("spelling", SQUARES)
def test_squares_of_what_rounding_leaves_of_a_row_of_one_value_are_honest(spelling: str) -> None:
    """In any order of the mean, and within a budget that still refuses bfloat16 in the other rows."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(16, 512, generator=generator)
    x[::4] = torch.randn(4, 1, generator=generator)
    squares = SQUARES[spelling]
    (verdict,) = _judged(lambda x: squares(_centred(x, lambda v: v.mean(-1, keepdim=True))), x)
    for mean in (
        _running,
        lambda v: v.flip(-1).mean(-1, keepdim=True),
        lambda v: v.double().mean(-1, keepdim=True).float(),
    ):
        assert verdict.accepts(squares(_centred(x, mean)))
    assert verdict.budget_ulp < 200
    rough = squares(_centred(x, lambda v: v.mean(-1, keepdim=True)).bfloat16().float())
    assert not verdict.accepts(rough)


def test_elements_in_memory_are_the_same_ones_whatever_their_order() -> None:
    whole = torch.arange(24.0).reshape(2, 3, 4)
    for turned in (whole.permute(2, 0, 1), whole.transpose(1, 2), whole):
        flat = in_memory(turned)
        assert flat.is_contiguous()
        assert torch.equal(flat.reshape(-1).sort().values, turned.reshape(-1).sort().values)
    for sparse in (whole[:, ::2], whole[:, :1].expand(2, 5, 4), whole[:, :2, 1:]):
        assert in_memory(sparse) is sparse


def test_a_turned_weight_has_the_scale_of_the_weight_and_nothing_where_it_is_not_finite() -> None:
    weight = torch.tensor([[1.0, -2.0, 3.0], [float("inf"), 0.0, -4.0]])
    move = graphs.node("y", "aten.permute.default", [Ref(ref="w"), [1, 0]], graphs.tensor(3, 2))
    record = graphs.graph([graphs.given("w", graphs.tensor(2, 3), "weight")], [move], {})
    (pair,), _ = propagate(record, {"w": weight})
    assert torch.equal(pair.scale, torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 4.0]]).double())
