"""A trainer is told as much as a proposer may know."""

from __future__ import annotations

from pathlib import Path

from tests.unit.learn.recorded import measured, rejected

from kernellab.core.records import FailedTrial
from kernellab.learn.book import SECRET_SHAPE, RewardBook
from kernellab.learn.feedback import told
from kernellab.ledger.reward_records import RewardRecord
from kernellab.ledger.store import Store


def given(store: Store, **fields: object) -> RewardRecord:
    plain = {"sample": "a", "task": "cube", "dims": {"N": 8}, "reply": store.put(b"no kernel"), "format": 1,
             "accuracy": 0, "speedup": None, "reward": 0.0, "why": "x"}  # fmt: skip
    return RewardRecord.model_validate({**plain, **fields})


def test_a_fault_of_the_format_is_explained(tmp_path: Path) -> None:
    store = Store(tmp_path)
    scored = told(RewardBook(), store, given(store, fault="no-answer", format=0), "c")
    assert (scored.feedback, scored.shape) == ("there is no <answer>", "N=8")


def test_a_rejection_is_explained_and_a_launch_that_names_a_number_is_not_quoted(tmp_path: Path) -> None:
    store = Store(tmp_path)
    source = store.put(b"SOURCE = ''")
    wrong = rejected()
    plain = wrong.model_dump(include={"task", "dims", "proposal", "tier", "seed", "device", "environment"})
    loud = FailedTrial.model_validate({**plain, "trial": 1, "status": "invalid", "reason": "5003 is odd"})
    trials = [
        t.model_copy(update={"proposal": t.proposal.model_copy(update={"source": source})}) for t in (wrong, loud)
    ]
    book = RewardBook([*trials])
    assert told(book, store, given(store, trials=[0]), "c").feedback.startswith("wrong-output: ")
    assert told(book, store, given(store, trials=[1]), "c").feedback == "invalid: it did not build"


def test_of_a_failed_look_only_the_fact_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path)
    scored = told(RewardBook([measured()]), store, given(store, trials=[0], why=SECRET_SHAPE), "c")
    assert (scored.why, scored.feedback) == (SECRET_SHAPE, "")
    failed = told(RewardBook(), store, given(store, failed="no power at 5003", why="the laboratory failed"), "c")
    assert "5003" not in str(failed)
