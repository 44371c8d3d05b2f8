"""What is known of kernels holds for all of their equals, from the moment it is known."""

from __future__ import annotations

from typing import Literal

import pytest
from tests.unit.learn.recorded import measured

from kernellab.core.records import DuplicateTrial, Passed, Rejected
from kernellab.learn.book import IN_FULL, SECRET_SHAPE, UNSEEN, RewardBook
from kernellab.ledger.reward_records import RewardBatch, RewardCheck, RewardRecord

WRONG = Rejected(cause="wrong-output", reason="off")
RIGHT = Passed(level="screen", cases=1, max_abs_err=0.0, max_ulp=0.0, budget_ulp=1.0, deterministic=True)


@pytest.fixture
def book() -> RewardBook:
    """A measured kernel (0), the same text again (1), other machine code (2), another text with the first's code (3)."""
    first = measured().model_copy(update={"trial": 0})
    plain = first.model_dump(include={"task", "dims", "proposal", "tier", "seed", "device", "environment", "artifact"})
    copy = DuplicateTrial.model_validate({**plain, "trial": 1, "of": 0})
    other = first.model_copy(update={"trial": 2, "artifact": first.artifact.model_copy(update={"id": "other"})})
    text = copy.model_copy(update={"trial": 3, "proposal": copy.proposal.model_copy(update={"source": "another"})})
    book = RewardBook([first, copy, other, text])
    book.take(batch(0))
    return book


def batch(first: int, masked: str = "") -> RewardBatch:
    return RewardBatch(
        batch=0, first=first, task="cube", dims={"N": 4096}, aa=[[1.0], [1.0]], disturbed=bool(masked), masked=masked
    )


def check(trial: int, verdict: Passed | Rejected, level: Literal["further", "full"] = "further") -> RewardCheck:
    return RewardCheck(trial=trial, level=level, dims={"N": 5}, inputs_seed="00", verdict=verdict)


def test_equal_machine_code_has_one_timing(book: RewardBook) -> None:
    assert book.derive([0]) == book.derive([1]) == book.derive([3])
    assert book.code(1) == book.code(0) == book.code(3) != book.code(2)
    assert book.text(1) == book.text(0) != book.text(3)


@pytest.mark.parametrize(("level", "why"), [("further", SECRET_SHAPE), ("full", IN_FULL)])
def test_what_a_look_refuses_is_rewarded_nothing_from_then_on_with_all_its_copies(
    book: RewardBook, level: Literal["further", "full"], why: str
) -> None:
    book.take(check(0, RIGHT, level))
    assert book.derive([1]).reward
    book.take(check(0, WRONG, level))
    assert [(book.derive([n]).reward, book.derive([n]).why) for n in (0, 1)] == [(0.0, why)] * 2
    assert book.derive([2]).reward


def test_a_cheat_with_an_honest_kernels_machine_code_neither_inherits_its_looks_nor_ruins_it(book: RewardBook) -> None:
    """At the screened shapes they are the same bytes; launch() differs elsewhere."""
    book.take(check(0, RIGHT))
    assert book.text(3) not in book.looked_at
    book.take(check(3, WRONG))
    assert (book.derive([3]).reward, book.derive([0]).reward != 0) == (0.0, True)
    assert [failed.trial for failed in book.failures[str(book.code(0))]] == [3]


def test_a_timing_is_as_good_as_the_batch_it_was_taken_in() -> None:
    """The equal that comes in a quiet batch does not make an earlier timing better."""
    first = measured().model_copy(update={"trial": 0})
    copy = first.model_copy(update={"trial": 1})
    book = RewardBook([first])
    assert (book.derive([0]).reward, book.derive([0]).why) == (None, UNSEEN)
    book.take(batch(0, "busy"))
    book.trials.append(copy)
    book.take(batch(1))
    assert (book.derive([0]).reward, book.derive([0]).why) == (None, "busy")
    assert book.derive([1]).reward


def test_the_best_of_a_place_is_remembered(book: RewardBook) -> None:
    given = RewardRecord(
        sample="a", task="cube", dims={"N": 8}, reply="0", format=1, accuracy=1, speedup=1.0, reward=1.3, why=""
    )
    book.take(given)
    book.take(given.model_copy(update={"sample": "b", "reward": None}))
    assert list(book.best.values()) == [1.3]
    assert list(book.rewards) == ["a", "b"]
