"""Fates: which verifier's question each hard verdict answers."""

from __future__ import annotations

from typing import get_args

import pytest

from kernellab.core.records import Cause, Rejected
from kernellab.search.soft.fate import SOFT_KINDS, Fate

GOOD, BUILT = Fate(outcome="passed"), Fate(outcome="built")
WRONG, OOB = (Fate.rejected(Rejected(cause=c, reason="r")) for c in ("wrong-output", "out-of-bounds"))
BROKEN = Fate(outcome="build-failed", reason="no")


def test_a_right_kernel_fails_nobodys_question() -> None:
    assert [GOOD.fails(kind) for kind in SOFT_KINDS] == [False, False, False]
    assert GOOD.failed is False
    assert GOOD.domain is None


def test_what_does_not_build_says_nothing_of_memory_and_numbers() -> None:
    assert [BROKEN.fails(kind) for kind in SOFT_KINDS] == [True, None, None]
    assert BROKEN.failed is True


def test_what_was_rejected_did_build_and_answers_one_question_of_two() -> None:
    assert [WRONG.fails(kind) for kind in SOFT_KINDS] == [False, None, True]
    assert [OOB.fails(kind) for kind in SOFT_KINDS] == [False, True, None]


def test_of_what_was_only_built_nothing_more_is_known() -> None:
    assert [BUILT.fails(kind) for kind in SOFT_KINDS] == [False, None, None]
    assert BUILT.failed is None


@pytest.mark.parametrize("cause", get_args(Cause))
def test_every_cause_of_a_rejection_is_a_failure_of_one_domain_at_most(cause: Cause) -> None:
    fate = Fate.rejected(Rejected(cause=cause, reason="r"))
    assert fate.failed is True
    assert sum(fate.fails(kind) is True for kind in SOFT_KINDS) == (0 if fate.domain is None else 1)
