from __future__ import annotations

import pytest

from kernellab.core.time_words import time_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (2.5e-7, "0.250 us"), (4.2e-6, "4.200 us"), (9.99e-5, "99.900 us"), (1e-4, "0.100 ms"), (0.0743, "74.300 ms"),
    ],
)  # fmt: skip
def test_no_time_is_rounded_to_nothing(seconds: float, words: str) -> None:
    assert time_words(seconds) == words
    assert time_words(seconds, 8).strip() == words
    assert len(time_words(seconds, 8)) == len("12345678 ms")
