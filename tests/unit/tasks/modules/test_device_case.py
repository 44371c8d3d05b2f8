"""A case compared where its tensors lie (on the processor here): what the host's comparison says, whole and in slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs

from kernellab.graph.evaluate import evaluate
from kernellab.graph.record import GraphRecord
from kernellab.tasks.expected import Expected
from kernellab.tasks.modules import device_case
from kernellab.tasks.modules.draws import KINDS
from kernellab.tasks.modules.host_arrays import array, array_of_dtype, tensors
from kernellab.tasks.modules.oracle import TorchOracle
from kernellab.tasks.oracle import error_ulp, rms_ulp
from kernellab.verdict.numeric import within

torch = pytest.importorskip("torch")
GRAPHS = {"linear": graphs.linear(), "maximum": graphs.maximum(), "masked": graphs.masked(), "total": graphs.total(),
          "roots": graphs.roots()}  # fmt: skip


def outputs(record: GraphRecord, case: Any) -> list[Any]:
    """What torch itself gives, in the graph's own types, as buffers hold it."""
    found = [t.reshape(1) if t.dim() == 0 else t for t in evaluate(record, tensors(record, case.inputs), wide=False)]
    return [t.to(torch.uint8) if t.dtype == torch.bool else t for t in found]


class Host:
    """The host's comparison, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Expected, Any]] = []

    def __call__(self, number: int, expected: Expected, got: Any) -> bool:
        self.asked.append((number, expected, got))
        return within(got, expected)


def passes(case: Any, *got: Any) -> bool:
    return case.compare(got, Host()) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("record", GRAPHS.values(), ids=GRAPHS)
def test_honest_results_pass_with_the_errors_that_the_host_finds(record: GraphRecord, kind: str) -> None:
    oracle, dims = TorchOracle(record, "ieee"), {s.name: 37 for s in record.symbols}
    case = oracle.case(dims, kind, 5)
    assert case is not None
    got = outputs(record, case)
    wanted = oracle.expect(dims, [array_of_dtype(t) if t.is_floating_point() else array(t) for t in case.inputs])
    found = case.compare(got, Host())
    assert found is not None
    for compared, one, expected in zip(found, got, wanted, strict=True):
        if not expected.exact:
            absolute, ulps, _ = error_ulp(array_of_dtype(one), expected.value, expected.scale)
            assert (compared.absolute, compared.ulps) == pytest.approx((absolute, ulps), rel=1e-9)
            assert compared.budget_ulp == expected.budget_ulp


def test_no_number_is_right_only_where_it_is_asked_for() -> None:
    record = graphs.roots()
    case = TorchOracle(record, "ieee").case({"d0": 37}, "normal", 3)
    assert case is not None
    (got,) = outputs(record, case)
    assert got.isnan().any()
    assert passes(case, got)
    for where, instead in ((got.isnan(), 0.0), (~got.isnan(), torch.nan), (~got.isnan(), torch.inf)):
        wrong = got.clone()
        wrong.view(-1)[where.view(-1).nonzero()[-1]] = instead
        assert not passes(case, wrong)


def test_what_stands_beside_no_number_is_judged_in_the_mean_too() -> None:
    value = torch.linspace(1, 2, 2000, dtype=torch.float64)
    value[::2] = torch.nan
    got = (value * (1 + 2.0**-21)).float()
    absolute, ulps, mean = device_case.errors(got, value, value.abs(), "float32")
    assert (absolute, ulps) == pytest.approx(error_ulp(got.numpy(), value.numpy(), value.abs().numpy())[:2], rel=1e-12)
    assert mean == pytest.approx(rms_ulp(got.numpy(), value.numpy(), value.abs().numpy()), rel=1e-12)
    assert mean > 1


@pytest.mark.parametrize("count", [1, 3, 64])
def test_one_wrong_element_is_found_in_any_slice(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    record = graphs.linear()
    monkeypatch.setattr("kernellab.tasks.modules.known.COUNTS", (count,))
    for row in (0, 18, 36):
        case = TorchOracle(record, "ieee").case({"d0": 37}, "normal", 3)
        assert case is not None
        (got,) = outputs(record, case)
        assert passes(case, got)
        got[row, 5] += 0.01
        host = Host()
        assert case.compare([got], host) is None
        number, expected, part = host.asked[-1]
        assert number == 0
        assert part.shape == expected.value.shape
        assert ((part < expected.low) | (part > expected.high)).sum() == 1


@pytest.mark.parametrize("count", [1, 3, 64])
def test_a_slice_that_the_host_excuses_excuses_no_other(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all that came behind such a slice was taken for right."""
    record = graphs.linear()
    monkeypatch.setattr("kernellab.tasks.modules.known.COUNTS", (count,))
    case = TorchOracle(record, "ieee").case({"d0": 37}, "normal", 3)
    assert case is not None
    (got,) = outputs(record, case)
    got[0, 5] += 0.01
    excused, asked = got[0, 5].item(), []

    def right(number: int, expected: Expected, part: Any) -> bool:
        asked.append(number)
        return within(np.where(part == excused, expected.value.astype(part.dtype), part), expected)

    assert case.compare([got], right) is not None
    assert asked == [0]
    got[36, 5] += 0.01
    assert case.compare([got], right) is None


def test_where_memory_is_short_fewer_rows_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    record, seen = graphs.linear(), []
    oracle = TorchOracle(record, "ieee")
    judge = oracle._answers._judge

    def short(given: Any) -> Any:
        seen.append(len(given["x"]))
        if len(given["x"]) > 6:
            raise torch.OutOfMemoryError("no memory")
        return judge(given)

    oracle._answers._judge = short
    case = oracle.case({"d0": 37}, "normal", 3)
    assert case is not None
    (got,) = outputs(record, case)
    assert passes(case, got)
    assert seen[0] == 37
    assert max(seen[1:]) <= 6
    assert sum(seen[1:]) == 37, "once through where all is right"
    seen.clear()
    got[30, 3] += 0.01
    assert not passes(case, got)
    assert max(seen) <= 6, "what did not fit is not tried again"
    assert sum(seen) > 2 * 37, "what is wrong is looked at with the budget of the worst slice"


def test_errors_are_those_of_the_host_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_case, "_AT_ONCE", 128)
    value = torch.randn(1000, dtype=torch.float64)
    value[3] = torch.inf
    got = (value * (1 + 1e-6 * torch.randn(1000, dtype=torch.float64))).float()
    scale = value.abs().nan_to_num(posinf=1.0)
    absolute, ulps, mean = device_case.errors(got, value, scale, "float32")
    wanted = got.numpy(), value.numpy(), scale.numpy()
    assert (absolute, ulps) == pytest.approx(error_ulp(*wanted)[:2], rel=1e-12)
    assert mean == pytest.approx(rms_ulp(*wanted), rel=1e-12)
