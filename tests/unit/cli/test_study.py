"""What the commands of studies mean by their exit codes. Whole studies are in tests/e2e."""

from __future__ import annotations

import pytest

from kernellab.cli.study import exit_code


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ((), 0), (("confirmed",), 0), (("rejected",), 3), (("inconclusive",), 4), (("confirmed", "rejected"), 3),
        (("inconclusive", "rejected", "confirmed"), 4),
    ],
)  # fmt: skip
def test_of_several_studies_the_one_that_went_worst_decides(verdicts: tuple[str, ...], code: int) -> None:
    assert exit_code(*verdicts) == code
