from __future__ import annotations

import math

from kernellab.search.memory.specimen import recall

from .specimens import ROWS, duplicate, failed, measured, read, rejected


def test_a_duplicate_has_its_twins_timing_and_a_failed_twins_reason() -> None:
    known = recall([measured(0, 2.0), rejected(1), duplicate(2, of=0), duplicate(3, of=1)], read)
    assert known[2].timing == known[0].timing
    assert known[3].timing is None
    assert known[3].reason == "wrong-output: y: 3 of 9 elements wrong"
    assert known[0].source == ROWS


def test_a_duplicate_whose_twin_is_not_here_is_no_crash() -> None:
    assert "trial 9, which is not here" in recall([duplicate(0, of=9)])[0].reason


def test_scores_are_logarithms_and_failures_have_none() -> None:
    timed, broken = recall([measured(0, 2.0), failed(1)])
    assert timed.score is not None
    assert math.isclose(timed.score, math.log(2.0))
    assert timed.spread[0] <= timed.score <= timed.spread[1]
    assert broken.score is None
    assert broken.reason == "build-failed: no such intrinsic"
