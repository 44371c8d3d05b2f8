"""A ledger of rewards is changed and signed again with a key that fits: the audit says what no longer follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.resign import Bodies, resigned
from tests.unit.learn.conftest import Score
from tests.unit.learn.kernels import ALSO_HONEST, HONEST, SCREENED_ONLY, WRONG

from kernellab.core.ids import sha256_hex
from kernellab.learn import RewardService
from kernellab.report.audit import audit

Change = Callable[[Bodies], object]


@pytest.fixture(scope="module")
def run(service: RewardService, score: Score, folder: Path) -> Path:
    """s0 honest, s1 wrong, s2 unread, s3 honest too, s4 a cheat."""
    score(HONEST, WRONG, "nothing", ALSO_HONEST)
    score(SCREENED_ONLY)
    return folder


def reward(entries: Bodies, sample: str) -> dict[str, Any]:
    return next(body for kind, body in entries if kind == "reward" and body["sample"] == sample)


def bodies(entries: Bodies, kind: str) -> list[dict[str, Any]]:
    return [body for name, body in entries if name == kind]


def said(run: Path, tmp_path: Path, change: Change) -> str:
    return "\n".join(audit(resigned(run, tmp_path / "changed", change)).problems)


def test_what_was_not_changed_passes(run: Path, tmp_path: Path) -> None:
    assert said(run, tmp_path, lambda _: None) == ""


@pytest.mark.parametrize(
    ("sample", "change", "words"),
    [
        ("s1", {"reward": 3.5}, "reward of sample s1 is 3.5, its records give 0.0"),
        ("s1", {"accuracy": 1}, "accuracy of sample s1 is 1, its records give 0"),
        ("s1", {"why": "fine"}, "sample s1 says 'fine', its records give 'rejected: wrong-output'"),
        ("s1", {"speedup": 9.0}, "speedup of sample s1 is 9.0, its records give None"),
        ("s1", {"trials": [0]}, "sample s1 names trial 0, which tried something else than its reply"),
        ("s1", {"dims": {"N": 65536}}, "sample s1 names trial"),
        ("s1", {"fault": "no-answer"}, "fault of sample s1 is 'no-answer', its reply has none"),
        ("s1", {"sample": "s0"}, "rewards sample s0 a second time"),
        ("s2", {"format": 1}, "format of sample s2 is 1, its records give 0"),
        ("s2", {"fault": "empty"}, "fault of sample s2 is 'empty', its reply has 'no-answer'"),
        ("s2", {"fault": "", "failed": "power"}, "fault of sample s2 is '', its reply has 'no-answer'"),
        ("s4", {"reward": 1.0, "accuracy": 1, "why": ""}, "reward of sample s4 is 1.0, its records give 0.0"),
    ],
)
def test_a_changed_reward_fails_with_words_of_its_own(
    run: Path, tmp_path: Path, sample: str, change: dict[str, Any], words: str
) -> None:
    assert words in said(run, tmp_path, lambda entries: reward(entries, sample).update(change))


def test_a_failed_look_cannot_be_left_out(run: Path, tmp_path: Path) -> None:
    def passed(entries: Bodies) -> None:
        failed = next(b for b in bodies(entries, "reward-check") if b["verdict"]["status"] == "rejected")
        failed["verdict"] = next(
            b["verdict"] for b in bodies(entries, "reward-check") if b["verdict"]["status"] == "passed"
        )

    assert "of sample s4 is 0" in said(run, tmp_path, passed)
    assert "says 'wrong at a further shape that is kept secret'" in "\n".join(audit(tmp_path / "changed").problems)


def test_a_reward_without_its_looks_or_its_plan_is_told(run: Path, tmp_path: Path) -> None:
    def drop(kind: str) -> Change:
        def dropped(entries: Bodies) -> None:
            entries[:] = [entry for entry in entries if entry[0] != kind]

        return dropped

    assert "no plan was recorded before it" in said(run, tmp_path, drop("reward-plan"))
    rewarded = [
        b for b in (reward([(e.kind, dict(e.body)) for e in _entries(run)], s) for s in ("s0", "s3")) if b["reward"]
    ]
    without = "\n".join(audit(resigned(run, tmp_path / "unlooked", drop("reward-check"))).problems)
    for body in rewarded:
        assert f"sample {body['sample']} is rewarded without a look at a further shape" in without


def _entries(run: Path) -> Any:
    from kernellab.ledger.journal import read_entries

    return read_entries(run)


def test_a_batch_is_masked_by_its_own_pairs_alone(run: Path, tmp_path: Path) -> None:
    def masked(entries: Bodies) -> None:
        bodies(entries, "reward-batch")[0].update(disturbed=False, masked="I say so")

    assert "masked is 'I say so', its pairs give ''" in said(run, tmp_path, masked)


def test_another_reply_in_the_store_is_noticed(run: Path, tmp_path: Path) -> None:
    def exchanged(entries: Bodies) -> None:
        reward(entries, "s2")["reply"] = sha256_hex(b"something else")

    assert "reply: blob" in said(run, tmp_path, exchanged)


def test_one_ledger_has_one_plan(run: Path, tmp_path: Path) -> None:
    def replanned(entries: Bodies) -> None:
        entries.append(("reward-plan", {**bodies(entries, "reward-plan")[0], "form": "seed"}))

    assert "is a second plan: one ledger has one kind of reward" in said(run, tmp_path, replanned)


def test_one_ledger_has_one_exam(run: Path, tmp_path: Path) -> None:
    exam = {"model": "m", "weights": "w", "record": "", "count": 1, "longest": 8, "temperature": 1.0, "seed": 0}
    assert said(run, tmp_path / "one", lambda entries: entries.append(("reward-exam", exam))) == ""
    words = said(run, tmp_path / "two", lambda entries: entries.extend([("reward-exam", exam)] * 2))
    assert "is a second exam: one ledger has one model's" in words


EXAM = {"model": "m", "weights": "w", "record": "", "count": 2, "longest": 8, "temperature": 1.0, "seed": 0}


def examined(entries: Bodies, count: int, at: str) -> None:
    """s0, so many times, as samples of an exam that is named before or after them."""
    given = [("reward", {**reward(entries, "s0"), "sample": f"exam-double-N=4096-{n}"}) for n in range(count)]
    named = [("reward-exam", EXAM)]
    entries += [*named, *given] if at == "before" else [*given, *named]


@pytest.mark.parametrize(
    ("count", "at", "words"),
    [
        (2, "before", ""),
        (3, "before", "sample exam-double-N=4096-2 is one more than the exam asked for"),
        (1, "after", "names the model of an exam after samples of it were rewarded"),
    ],
)
def test_an_exam_is_named_first_and_has_the_samples_that_it_asked_for(
    run: Path, tmp_path: Path, count: int, at: str, words: str
) -> None:
    found = said(run, tmp_path, lambda entries: examined(entries, count, at))
    assert words in found
    assert bool(words) == bool(found)


def test_a_batch_cannot_look_after_trials_from_before_it(run: Path, tmp_path: Path) -> None:
    def earlier(entries: Bodies) -> None:
        bodies(entries, "reward-batch")[1]["first"] = 0

    assert "counts from trial 0 on, and " in said(run, tmp_path, earlier)


def test_a_trial_is_not_counted_from_the_end(run: Path, tmp_path: Path) -> None:
    words = said(run, tmp_path, lambda entries: reward(entries, "s1").update(trials=[-1]))
    assert "is not a well-formed record: trials.0: Input should be greater than or equal to 0" in words


def test_a_disturbed_timing_that_calls_itself_undisturbed_pays_nothing(run: Path, tmp_path: Path) -> None:
    def flattering(entries: Bodies) -> None:
        timing = next(b["timing"] for b in bodies(entries, "trial") if b["status"] == "measured")
        timing |= {"disturbed": False, "dropped": [[1.0, 0.1]] * len(timing["candidate_s"])}

    assert "calls itself undisturbed with " in said(run, tmp_path, flattering)


def test_a_trial_at_a_shape_that_is_not_rewarded_is_told(run: Path, tmp_path: Path) -> None:
    def elsewhere(entries: Bodies) -> None:
        for plan in bodies(entries, "reward-plan"):
            plan["tasks"][0]["shapes"] = [{"N": 5003}]

    assert "which the run was not asked for" in said(run, tmp_path, elsewhere)
