"""What adding in any order may cost, of the very terms: plain float32 loops are the measure."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from kernellab.graph.ops.algebra import terms_of  # noqa: E402

EPS = 2.0**-23


def cost(values: np.ndarray, dims: object = -1) -> float:
    """In ULP, as the rule says."""
    return math.sqrt(terms_of(torch.from_numpy(values.astype(np.float64)), dims))


def in_order(row: np.ndarray) -> float:
    """The worse of both directions, one term after the other in float32, in ULP of the sum of magnitudes."""
    terms = row.astype(np.float32)
    exact = float(terms.astype(np.float64).sum())
    found = [float(np.add.accumulate(t, dtype=np.float32)[-1]) for t in (terms, terms[::-1])]
    return max(abs(f - exact) for f in found) / (EPS * float(np.abs(terms).astype(np.float64).sum()))


@pytest.mark.parametrize("length", [64, 1024, 16384])
@pytest.mark.parametrize(
    "kind",
    ["normal", "positive", "one large, small beside it", "squares of heavy tails", "few, and the rest the same",
     "cut off at one", "cut off at 0.7", "counts", "whole steps beside others"],
)  # fmt: skip
def test_a_plain_loop_stays_within_it(kind: str, length: int) -> None:
    rng = np.random.default_rng(length)
    rows = rng.standard_normal((64, length))
    if kind == "positive":
        rows = rows + 30
    elif kind == "one large, small beside it":
        rows = np.abs(rows)
        rows[:, 7] = 1e6
    elif kind == "squares of heavy tails":
        rows = (rows / rng.uniform(0, 1, rows.shape) ** (1 / 1.2)) ** 2
    elif kind == "few, and the rest the same":
        rows = np.full(rows.shape, rng.uniform(1e-6, 1e-4, (64, 1)))
        rows[:, :4] = 1.0
    elif kind.startswith("cut off"):
        rows = np.minimum(rows + 1.5, 1.0 if kind.endswith("one") else 0.7)
    elif kind == "counts":
        rows = (rows > -1) * 0.375
    elif kind == "whole steps beside others":
        rows = np.where(rows > -0.5, 2.0**-10, rows)
    rows = rows.astype(np.float32)
    assert max(in_order(row) for row in rows) <= 4 + cost(rows)


def test_what_counts_is_counted_and_zeros_are_not() -> None:
    rng = np.random.default_rng(0)
    assert cost(rng.uniform(1, 2, (3, 100))) == pytest.approx(10.0)
    assert cost(np.zeros((3, 100))) == 0.0
    sparse = np.zeros((3, 100))
    sparse[:, :4] = [0.1, 0.2, 0.3, 0.4]
    assert cost(sparse) == pytest.approx(2.0), "a product's sparse row is as strict as ever"


def test_what_float32_adds_without_rounding_costs_nothing() -> None:
    """A count would else be a licence for whatever it is multiplied with: half a unit for every one of its ones."""
    ones = np.random.default_rng(2).random((3, 20_000)) < 0.8
    assert cost(ones) == 0.0
    assert cost(np.where(ones, -0.75, 2.0)) == 0.0, "steps of a quarter"
    assert cost(np.where(ones, 1.0, 2.0**-20)) > 100, "too many steps for float32"
    assert cost(np.where(ones, 1.0, 0.3)) == pytest.approx(math.sqrt(20_000)), "the ones round nothing, the others do"
    assert cost(np.where(ones, 0.7, 0.3)) > 2000


def test_terms_too_small_to_show_are_lost_whole() -> None:
    row = np.concatenate([[1.0], EPS / 4 * np.linspace(0.9, 1.1, 1000)])[None]
    assert cost(row) == pytest.approx(1 + 250, rel=0.01)


@pytest.mark.parametrize(
    ("dims", "wanted"), [((0,), 2.0), ([1, 2], math.sqrt(12)), (-1, 2.0), ([0, 1, 2], math.sqrt(48))]
)
def test_the_dims_that_are_added_are_the_ones_that_count(dims: object, wanted: float) -> None:
    values = np.random.default_rng(1).uniform(1, 2, (4, 3, 4))
    assert cost(values, dims) == pytest.approx(wanted)


def test_nothing_and_a_single_number_are_sums_too() -> None:
    assert cost(np.zeros((0, 4))) == 0.0
    assert cost(np.array(0.3), []) == 1.0


@pytest.mark.parametrize("at_once", [7, 64, 1000])
def test_a_large_tensor_is_looked_at_in_pieces(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    rng = np.random.default_rng(5)
    rows = (rng.standard_normal((33, 100)) / rng.uniform(0, 1, (33, 100)) ** (1 / 1.2)) ** 2
    whole = cost(rows)
    monkeypatch.setattr("kernellab.graph.ops.algebra._AT_ONCE", at_once)
    assert cost(rows) == pytest.approx(whole, rel=1e-12)


def test_a_long_row_of_one_number_is_found_by_some_of_its_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.full((1, 4000), 80.49 * EPS)  # nearly half a step of the sum's last digit
    row[0, 0] = 1.0
    whole = cost(row)
    monkeypatch.setattr("kernellab.graph.ops.algebra._LOOKED_AT", 100)
    assert whole == pytest.approx(0.49 * 4000 / (1 + 4000 * 80.49 * EPS), rel=0.01)
    assert cost(row) == pytest.approx(whole, rel=0.05)
