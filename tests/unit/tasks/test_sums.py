from __future__ import annotations

import numpy as np
import pytest

from kernellab.tasks.sums import any_order_ulp, product_scale, sum_scale

EPS = 2.0**-23


def test_terms_of_a_size_allow_the_root_of_their_number() -> None:
    terms = np.ones((3, 400))
    terms[:, 7] = 1.5
    assert any_order_ulp(terms, 1).tolist() == [[20.0]] * 3


@pytest.mark.parametrize("count", [20, 100, 513, 4096])
def test_equal_terms_allow_what_a_running_sum_of_them_loses(count: int) -> None:
    terms = np.exp(-np.random.default_rng(4).random((200, 1))).astype(np.float32).repeat(count, axis=1)
    allowed = any_order_ulp(terms, 1)
    assert (allowed == max(np.sqrt(count), 3 * count / 16)).all()
    exact = terms.astype(np.float64).sum(axis=1)
    lost = np.abs(np.cumsum(terms, axis=1, dtype=np.float32)[:, -1] / exact - 1) / EPS
    assert (lost <= allowed[:, 0]).all()
    assert count < 513 or lost.max() > np.sqrt(count)


def test_zeros_are_no_terms() -> None:
    terms = np.zeros((2, 131072))
    terms[0, [5, 70, 900, 100000]] = 1, -2, 3, 4
    assert any_order_ulp(terms, 1)[0, 0] == 2.0
    assert sum_scale(terms, 1).tolist() == [10 * (1 + 2 / 5), 0.0]


def test_terms_too_small_to_be_seen_count_by_their_weight() -> None:
    """After the large one each is below half a ULP and vanishes: as many ULP are missing as they weigh together."""
    terms = np.full(1001, EPS / 4)
    terms[0] = 1
    assert any_order_ulp(terms)[0] == pytest.approx(1 + 250, rel=1e-3)
    assert np.cumsum(terms, dtype=np.float32)[-1] == 1


def test_no_sum_excuses_half_precision() -> None:
    assert any_order_ulp(np.ones(1 << 22))[0] == 1024
    terms = np.full(1 << 20, EPS / 4)
    terms[0] = 1
    assert any_order_ulp(terms)[0] == 1024


def test_a_scale_covers_several_axes_and_keeps_them_if_asked() -> None:
    terms = np.ones((2, 3, 4))
    assert sum_scale(terms, (1, 2)).shape == (2,)
    assert sum_scale(terms, 1, keepdims=True).shape == (2, 1, 4)
    assert float(sum_scale(terms)) == pytest.approx(24 * (1 + np.sqrt(24) / 5))


def test_a_product_counts_the_pairs_that_are_not_zero() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((5, 64)), rng.standard_normal((64, 3))
    a[:, 4:] = 0
    terms = a[:, :, None] * b[None]
    np.testing.assert_allclose(product_scale(a, b), sum_scale(terms, 1), rtol=1e-6)
    assert (product_scale(a, b) <= (np.abs(a) @ np.abs(b)) * 1.4001).all()


def test_a_sum_of_nothing_has_no_scale() -> None:
    assert sum_scale(np.zeros((2, 8)), 1).tolist() == [0.0, 0.0]
