"""One sample on its way: what the laboratory cannot do is no fault of a kernel, and a ledger's fault is nobody's to hide."""

from __future__ import annotations

import random

import pytest
from tests.unit.learn.kernels import HONEST, code, reply

from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.evaluate.stage import Stage
from kernellab.learn import RewardService, Sample
from kernellab.learn.attempt import Attempt, Examiner, Place, build_key, read, share
from kernellab.learn.book import RewardBook

DIMS = {"N": 32768}


class Broken(Place):
    """A shape that cannot be set up."""

    fault: Exception = EnvironmentFault("no power")

    def stage(self) -> Stage:
        raise self.fault


@pytest.fixture
def broken(service: RewardService) -> Broken:
    return Broken(service._first, DIMS)


def test_a_reply_is_kept_and_becomes_an_idea_of_a_policy(service: RewardService) -> None:
    attempt = read(Sample("a", HONEST), Place(service._first, DIMS), "c")
    assert service._first.store.get(attempt.reply).decode() == HONEST
    assert attempt.idea is not None
    assert (attempt.idea.origin, attempt.idea.params, attempt.fault) == ("policy", {}, "")


def test_a_reply_that_cannot_be_read_has_a_fault_and_no_idea(service: RewardService) -> None:
    attempt = read(Sample("a", "none"), Place(service._first, DIMS), "c")
    assert (attempt.idea, attempt.fault) == (None, "no-answer")


@pytest.mark.parametrize(
    ("fault", "told"),
    [(EnvironmentFault("no power"), "no power"), (ProcessLookupError(3, "gone"), "ProcessLookupError: [Errno 3] gone")],
)
def test_a_laboratory_that_fails_says_nothing_of_the_kernel(
    broken: Broken, monkeypatch: pytest.MonkeyPatch, fault: Exception, told: str
) -> None:
    monkeypatch.setattr(Broken, "fault", fault)
    book = RewardBook()
    attempt = read(Sample("a", HONEST), broken, "c")
    Examiner(book, random.Random(0)).examine(attempt)
    assert (attempt.failed, attempt.trials) == (told, [])
    reward = book.derive(attempt.trials, attempt.fault, attempt.failed)
    assert (reward.reward, reward.accuracy, reward.why) == (None, None, "the laboratory failed")


def test_a_ledger_that_cannot_be_written_ends_the_batch(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "fault", LedgerFault("the disk is full"))
    with pytest.raises(LedgerFault):
        Examiner(RewardBook(), random.Random(0)).examine(read(Sample("a", HONEST), broken, "c"))


def test_what_says_the_same_is_built_and_tried_once(service: RewardService) -> None:
    small, large = Place(service._first, DIMS), Place(service._first, {"N": 65536})
    first, equal, other = (
        read(Sample("x", text), small, "c") for text in (HONEST, "so: " + HONEST, reply(code(head="int a;")))
    )
    assert build_key(first) == build_key(equal)
    assert len({build_key(first), build_key(other), build_key(read(Sample("x", HONEST), large, "c"))}) == 3
    first.trials, first.failed = [3, 4], "late"
    share(first, equal)
    assert (equal.trials, equal.failed) == ([3, 4], "late")
    assert equal.trials is not first.trials
    assert isinstance(equal, Attempt)
