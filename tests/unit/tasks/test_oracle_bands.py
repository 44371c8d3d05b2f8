"""Large shapes are judged band by band: that must give what the whole gives, to the last bit where sums are the same."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernellab.core.errors import TaskRefused
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import STANDARD, draw_inputs
from kernellab.tasks.oracle import Expected, _bands, expect
from kernellab.tasks.spec import Array, Buffer, Dims, Task

STENCILS = [n for n in TASKS if n.startswith("stencil")]
SOFTMAXES = [n for n in TASKS if n.startswith("softmax")]
FIELDS = ("value", "scale", "low", "high")


@pytest.fixture(scope="module")
def hands() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def both(task: Task, dims: Dims, band: int, workers: Any = None) -> list[tuple[Expected, Expected]]:
    """What is expected as a whole, and in bands of about so many elements."""
    inputs = draw_inputs(task, dims, next(iter(task.distributions)), np.random.default_rng(11))
    assert len(_bands(task, dims, band)) > 1
    whole = expect(replace(task, halo=None), dims, inputs)
    return list(zip(whole, expect(task, dims, inputs, (), band, workers), strict=True))


def same_bits(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


@pytest.mark.parametrize("name", STENCILS)
@settings(max_examples=15, deadline=None)
@given(h=st.integers(2, 40), w=st.integers(1, 17), c=st.integers(1, 3), rows=st.integers(1, 20))
def test_a_stencil_in_bands_is_the_stencil(name: str, h: int, w: int, c: int, rows: int) -> None:
    band = min(rows, h // 2) * w * c
    for whole, joined in both(TASKS[name], {"H": h, "W": w, "C": c}, band):
        assert joined.budget_ulp == whole.budget_ulp
        assert all(same_bits(getattr(joined, f), getattr(whole, f)) for f in FIELDS)


@pytest.mark.parametrize("name", SOFTMAXES)
@settings(max_examples=15, deadline=None)
@given(m=st.integers(2, 60), n=st.integers(1, 130), rows=st.integers(1, 30))
def test_a_softmax_in_bands_is_the_softmax(name: str, m: int, n: int, rows: int) -> None:
    """Vectorised exponentials may differ in their last bit by where a band starts: float64 bits, far below any budget."""
    for whole, joined in both(TASKS[name], {"M": m, "N": n}, min(rows, m // 2) * n):
        assert joined.budget_ulp == pytest.approx(whole.budget_ulp, rel=1e-6)
        for field in ("value", "scale"):
            np.testing.assert_allclose(getattr(joined, field), getattr(whole, field), rtol=1e-12)
        for field in ("low", "high"):
            close, wanted = getattr(joined, field), getattr(whole, field)
            assert close.dtype == wanted.dtype
            np.testing.assert_allclose(close.astype(np.float64), wanted.astype(np.float64), rtol=2e-2, atol=1e-6)


@pytest.mark.parametrize("name", ["stencil5x5", "softmax"])
def test_several_workers_make_the_same_bands(name: str, hands: ThreadPoolExecutor) -> None:
    task = TASKS[name]
    dims = {"H": 33, "W": 9, "C": 2} if name == "stencil5x5" else {"M": 33, "N": 18}
    alone, shared = both(task, dims, 5 * 18), both(task, dims, 5 * 18, hands)
    for (_, one), (_, other) in zip(alone, shared, strict=True):
        assert one.budget_ulp == other.budget_ulp
        assert all(same_bits(getattr(one, f), getattr(other, f)) for f in FIELDS)


def test_known_budgets_are_kept_in_every_band() -> None:
    task, dims = TASKS["stencil3x3"], {"H": 16, "W": 4, "C": 1}
    inputs = draw_inputs(task, dims, "normal", np.random.default_rng(1))
    (found,) = expect(task, dims, inputs, [17.0], 4)
    (whole,) = expect(replace(task, halo=None), dims, inputs, [17.0])
    assert found.budget_ulp == 17.0
    assert same_bits(found.low, whole.low)


@settings(deadline=None)
@given(rows=st.integers(1, 200), width=st.integers(1, 50), elements=st.integers(1, 3000), halo=st.integers(0, 5))
def test_bands_cover_every_row_once_and_reach_one_halo_further(rows: int, width: int, elements: int, halo: int) -> None:
    task = smoothing(halo)
    bands = _bands(task, {"H": rows, "W": width}, elements)
    assert [r for b in bands for r in range(b.start, b.end)] == list(range(rows))
    for band in bands:
        assert band.start < band.end
        if len(bands) > 1:
            assert (band.first, band.last) == (max(0, band.start - halo), min(rows, band.end + halo))
    if rows * width < 2 * elements:
        assert len(bands) == 1


def test_without_a_halo_nothing_is_cut() -> None:
    assert len(_bands(replace(smoothing(1), halo=None), {"H": 1000, "W": 50}, 10)) == 1


def smoothing(halo: int | None, **changes: Any) -> Task:
    """Each row is itself and half of the rows beside it."""

    def reference(x: Array) -> Array:
        padded = np.pad(x, ((1, 1), (0, 0)))
        return x + (padded[:-2] + padded[2:]) / 2

    fields: dict[str, Any] = {
        "name": "rows", "about": "", "inputs": (Buffer("x", ("H", "W")),), "outputs": (Buffer("y", ("H", "W")),),
        "reference": reference, "tune": ({"H": 64, "W": 8},), "held_out": ({"H": 65, "W": 8},),
        "edge": ({"H": 1, "W": 1}, {"H": 9, "W": 5}), "distributions": STANDARD, "halo": halo,
    }  # fmt: skip
    return Task(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"outputs": (Buffer("y", ("W", "H")),)},
        {"outputs": (Buffer("y", (1,)),)},
        {"outputs": (Buffer("y", ()),)},
        {"outputs": (Buffer("y", ("2*H", "W")),)},
        {"inputs": (Buffer("x", ("H", "W")), Buffer("z", (4,)))},
        {"inputs": (Buffer("x", (8, "W")),), "outputs": (Buffer("y", (8, "W")),)},
        {"inputs": (Buffer("x", ("H+1", "W")),), "outputs": (Buffer("y", ("H+1", "W")),)},
        {"halo": -1},
    ],
    ids=[
        "other axis",
        "one element",
        "scalar",
        "twice as many",
        "an input without",
        "a number",
        "arithmetic",
        "negative",
    ],
)
def test_a_halo_without_a_shared_first_axis_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(TaskRefused, match="has a halo, but") as caught:
        smoothing(**{"halo": 1, **changes})
    assert caught.value.fix == "drop halo="


def test_the_same_tasks_are_accepted_without_a_halo() -> None:
    assert smoothing(None, outputs=(Buffer("y", (1,)),)).halo is None
    assert smoothing(None, outputs=(Buffer("y", ()),)).outputs[0].extents == ()


def test_the_halo_is_part_of_a_tasks_identity_and_only_where_there_is_one() -> None:
    prints = [smoothing(halo).fingerprint() for halo in (None, 0, 1)]
    assert len(set(prints)) == 3
