from __future__ import annotations

from kernellab.core.pairs import pairs_kept


def test_dropped_pairs_are_said_beside_the_tries_they_are_of() -> None:
    assert pairs_kept(25, 466) == "25 pairs, 466 of 491 tries dropped"
    assert pairs_kept(41, 0) == "41 pairs, 0 of 41 tries dropped"
