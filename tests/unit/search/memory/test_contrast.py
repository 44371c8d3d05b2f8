from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernellab.measurement.stats import paired_speedup
from kernellab.search.memory.contrast import contrast, median_weights, ratio
from kernellab.search.memory.specimen import recall

from .specimens import CUDA, ROWS, ROWS_CHILD, artifact, failed, measured, read, timing


def test_the_ratio_of_clearly_different_kernels_excludes_1_both_ways_round() -> None:
    fast, slow = recall([measured(0, 3.0, 0.02), measured(1, 2.0, 0.02)])
    forth, back = ratio(fast, slow), ratio(slow, fast)
    assert forth is not None
    assert back is not None
    assert forth.value == pytest.approx(1.5)
    assert 1.4 < forth.low <= forth.value <= forth.high < 1.6
    assert back.low == pytest.approx(1 / forth.high, rel=0.01)


def test_the_same_kernel_measured_twice_is_not_clearly_different() -> None:
    found = contrast(*recall([measured(0, 2.0, 0.05), measured(1, 2.01, 0.05)]))
    assert "not clearly different" in found.text()


def test_against_an_exact_partner_the_interval_is_the_bench_s_own() -> None:
    noisy, exact = recall([measured(0, 2.0, 0.1, time=timing(2.0, 0.1, pairs=21)), measured(1, 1.0, 0.0)])
    found, own = ratio(noisy, exact), noisy.timing
    assert found is not None
    assert own is not None
    bench = paired_speedup(own.candidate_s, own.baseline_s)
    assert (found.low, found.high) == pytest.approx((bench.low, bench.high), rel=0.011)


@given(st.integers(1, 60))
def test_the_bootstrap_weights_of_a_median_are_a_distribution_with_its_mass_in_the_middle(n: int) -> None:
    weights = median_weights(n)
    assert len(weights) == n
    assert sum(weights) == pytest.approx(1.0)
    assert min(weights) >= -1e-12
    assert max(range(n), key=lambda k: weights[k]) in {(n - 1) // 2, n // 2, max(0, n // 2 - 1)}


@pytest.mark.parametrize("changes", [{"dims": {"M": 1, "N": 1}}, {"task": "other"}, {"device": "other"}])
def test_what_was_measured_elsewhere_does_not_compare(changes: dict[str, object]) -> None:
    found = contrast(*recall([measured(0, 2.0), measured(1, 1.0, **changes)]))
    assert found.ratio is None
    assert "not comparable" in found.text()


def test_another_baseline_does_not_compare() -> None:
    assert ratio(*recall([measured(0, 2.0), measured(1, 1.0, time=timing(1.0, baseline="numpy"))])) is None


def test_differences_of_parameters_and_resources_are_named() -> None:
    a = measured(0, 3.0, params={"ROWS": 4, "UNROLL": 1}, built=artifact("cuda", registers=64, shared=0))
    b = measured(1, 2.0, params={"ROWS": 2, "UNROLL": 1}, built=artifact("cuda", registers=80, shared=0))
    found = contrast(*recall([a, b], read))
    assert found.params == {"ROWS": (4, 2)}
    assert found.resources == {"registers": (64, 80)}
    assert found.diff == ""
    text = found.text()
    assert "ROWS 4 | 2" in text
    assert "registers 64 | 80" in text
    assert "code: the same" in text
    assert "A is faster" in text


def test_the_diff_goes_from_b_to_a() -> None:
    found = contrast(*recall([measured(0, 3.0, text=ROWS_CHILD), measured(1, 2.0, text=ROWS)], read))
    added = [line for line in found.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert len(added) == 1
    assert "x[i] + x[i]" in added[0]
    assert 0 < found.distance < 0.3


def test_a_missing_source_is_said_and_does_no_harm() -> None:
    found = contrast(*recall([measured(0, 3.0, text="a"), measured(1, 2.0, text="b")]))
    assert "not at hand" in found.diff
    assert found.distance == 1.0


def test_a_failure_shows_its_reason_next_to_what_works() -> None:
    text = contrast(*recall([measured(0, 3.0), failed(1, reason="no such intrinsic")], read)).text()
    assert "B (trial 1) failed: build-failed: no such intrinsic" in text
    assert "A (trial 0) reached 3.000x of torch" in text


@given(st.integers(0, 400))
def test_the_text_keeps_to_its_budget(tokens: int) -> None:
    found = contrast(*recall([measured(0, 3.0, text=ROWS), measured(1, 2.0, text=CUDA, params={"THREADS": 8})], read))
    assert len(found.text(tokens)) <= 3 * tokens
