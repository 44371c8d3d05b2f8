from __future__ import annotations

import pytest

from kernellab.core.settings import EFFORTS
from kernellab.measurement.escape import SHARES, checks_of, escape_probability


def test_a_kernel_escapes_when_every_checked_call_is_a_right_one() -> None:
    assert escape_probability(1 / 2, 3) == 1 / 8
    assert escape_probability(1 / 8, 1) == 7 / 8
    assert escape_probability(1 / 4, 2) == pytest.approx(9 / 16)


def test_a_right_kernel_passes_and_a_wrong_one_does_not_unless_nothing_is_checked() -> None:
    assert escape_probability(0.0, 1000) == 1.0
    assert escape_probability(1.0, 1) == 0.0
    assert escape_probability(1.0, 0) == 1.0


@pytest.mark.parametrize(("share", "checks"), [(-0.1, 1), (1.1, 1), (0.5, -1)])
def test_what_is_no_share_or_no_number_is_refused(share: float, checks: int) -> None:
    with pytest.raises(ValueError, match="a share between 0 and 1"):
        escape_probability(share, checks)


def test_every_pair_of_a_confirmation_is_a_check() -> None:
    assert {name: checks_of(effort) for name, effort in EFFORTS.items()} == {"quick": 111, "standard": 205, "full": 413}
    assert SHARES == (0.5, 0.125, 0.0625, 0.015625)


def test_more_effort_and_more_wrong_calls_leave_less_hope() -> None:
    counts = [checks_of(EFFORTS[name]) for name in ("quick", "standard", "full")]
    assert counts == sorted(set(counts))
    hopes = [escape_probability(share, counts[1]) for share in SHARES]
    assert hopes == sorted(set(hopes))
    assert escape_probability(1 / 16, counts[1]) < 1e-3
