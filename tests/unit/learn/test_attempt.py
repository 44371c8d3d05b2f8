"""One sample on its way: what the laboratory cannot do is no fault of a kernel, and a ledger's fault is nobody's to hide."""

from __future__ import annotations

import random

import pytest
from tests.unit.learn.kernels import HONEST, UNBUILT, code, reply

from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.evaluate.request import Judging
from kernellab.evaluate.stage import Stage
from kernellab.learn import RewardService, Sample
from kernellab.learn.attempt import Attempt, Examiner, Place, build_ahead, build_in_full, build_key, read, share
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


def is_built(attempt: Attempt, dims: dict[str, int], judging: Judging) -> bool:
    assert attempt.idea is not None
    opened = attempt.place.run.opened
    request = opened.request(dims, attempt.idea.candidate, attempt.idea.params, judging=judging)
    return opened.evaluator._of(request).has(request)


def test_what_is_looked_at_is_drawn_and_built_before_its_trial(service: RewardService) -> None:
    attempt = read(Sample("a", reply(code(head="int built_ahead;"))), Place(service._first, DIMS), "c")
    build_ahead(attempt, random.Random(1))
    assert attempt.looks
    assert is_built(attempt, DIMS, Judging())
    assert all(is_built(attempt, dims, Judging(distribution=name)) for dims, name in attempt.looks)
    assert not is_built(attempt, DIMS, Judging(level="full"))
    build_in_full(attempt)
    assert is_built(attempt, DIMS, Judging(level="full"))


def test_nothing_is_drawn_for_what_does_not_build(service: RewardService) -> None:
    attempt = read(Sample("a", UNBUILT), Place(service._first, DIMS), "c")
    build_ahead(attempt, random.Random(1))
    assert attempt.looks is None


def test_some_full_verdicts_share_their_inputs_and_then_they_are_drawn_anew(service: RewardService) -> None:
    examiner = Examiner(RewardBook(), random.Random(0))
    small, large = Place(service._first, DIMS), Place(service._first, {"N": 65536})
    seeds = [examiner._seed(small) for _ in range(33)]
    assert [len(set(part)) for part in (seeds[:16], seeds[16:32], seeds)] == [1, 1, 3]
    assert examiner._seed(large) not in seeds
