from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernellab.ledger.sequence import Sequence


def told(seqs: list[int]) -> tuple[list[str], list[tuple[int, int]]]:
    sequence = Sequence()
    return [wrong for seq in seqs if (wrong := sequence.take(seq))], sequence.deleted()


def test_an_unbroken_sequence_has_nothing_wrong() -> None:
    assert told([0, 1, 2, 3]) == ([], [])


@given(st.permutations(range(12)))
def test_a_permutation_is_re_ordered_and_never_deleted_or_duplicated(seqs: list[int]) -> None:
    wrong, deleted = told(seqs)
    assert deleted == []
    assert bool(wrong) == (seqs != sorted(seqs))
    assert all("re-ordered" in text for text in wrong)


@given(st.sets(st.integers(0, 30), min_size=1))
def test_what_never_turns_up_below_the_last_is_deleted(kept: set[int]) -> None:
    wrong, deleted = told(sorted(kept))
    missing = {seq for first, last in deleted for seq in range(first, last + 1)}
    assert wrong == []
    assert missing == set(range(max(kept))) - kept


def test_a_number_seen_twice_is_duplicated() -> None:
    wrong, deleted = told([0, 1, 1, 2])
    assert len(wrong) == 1
    assert "duplicated" in wrong[0]
    assert deleted == []


def test_an_unreadable_line_stands_for_the_number_it_hides() -> None:
    sequence = Sequence()
    assert sequence.take(0) == ""
    sequence.skip()
    assert sequence.take(2) == ""
    assert sequence.deleted() == []
