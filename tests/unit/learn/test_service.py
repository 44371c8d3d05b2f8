"""The reward service with real compilers and real kernels: honest ones are rewarded, cheats are not, whatever they try."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.learn.conftest import Score
from tests.unit.learn.kernels import (
    ALSO_HONEST,
    CHEATS,
    HONEST,
    IN_THE_KERNEL,
    NOT_HELD_OUT,
    SCREENED_ONLY,
    UNBUILT,
    WRONG,
)

from kernellab.core.errors import UsageError
from kernellab.learn import RewardService, RewardTerms, Sample, open_service
from kernellab.learn.book import IN_FULL, SECRET_SHAPE
from kernellab.learn.dataset import dataset_of
from kernellab.ledger.reward_records import REWARD, REWARD_BATCH, REWARD_CHECK, RewardExam
from kernellab.ledger.run import Run
from kernellab.report.audit import audit


@pytest.mark.heavy
def test_a_batch_of_everything_is_answered_in_its_order(score: Score) -> None:
    good, wrong, unbuilt, unread, again = score(HONEST, WRONG, UNBUILT, "I cannot do this.", HONEST)
    assert good.reward is None or good.reward > 0.3
    assert (good.format, good.accuracy) == (1, 1)
    assert (wrong.reward, wrong.accuracy, wrong.why) == (0.0, 0, "rejected: wrong-output")
    assert (unbuilt.reward, unbuilt.accuracy, unbuilt.why) == (0.0, 0, "build-failed")
    assert (unread.reward, unread.format, unread.why) == (0.0, 0, "format: no-answer")
    assert (again.reward, again.speedup, again.why) == (good.reward, good.speedup, good.why)


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS.keys())
def test_a_cheat_is_never_rewarded(score: Score, cheat: str) -> None:
    first, again = (score(cheat)[0] for _ in range(2))
    assert first.reward == 0.0, first
    assert again.reward == 0.0, again


@pytest.mark.parametrize("cheat", [SCREENED_ONLY, NOT_HELD_OUT, IN_THE_KERNEL], ids=["most", "launch", "kernel"])
def test_what_is_wrong_at_few_shapes_is_found_out_as_its_copies_come_and_is_paid_nothing_from_then_on(
    score: Score, cheat: str
) -> None:
    """A batch finds it with a chance of one in three or more: sixty miss it once in 10^10."""
    found = next(n for n in range(60) if score(cheat)[0].reward == 0.0)
    assert [scored.reward for _ in range(2) for scored in score(cheat, cheat)] == [0.0] * 4, found


def test_what_is_right_at_the_screened_shapes_only_is_caught_beside_the_honest_kernel_and_leaves_it_alone(
    score: Score,
) -> None:
    score(HONEST)
    (cheat,) = score(SCREENED_ONLY)
    assert (cheat.reward, cheat.why) == (0.0, SECRET_SHAPE)
    (honest,) = score(HONEST)
    assert honest.reward != 0.0


def test_an_honest_text_with_a_refused_kernels_machine_code_passes_what_the_other_failed(
    service: RewardService, score: Score, folder: Path
) -> None:
    score(SCREENED_ONLY)
    (honest,) = score(HONEST.replace("FLAGS", "# by another name\nFLAGS"))
    assert honest.accuracy == 1
    checks = Run(folder).records(REWARD_CHECK)
    failed = [c.dims for c in checks if c.verdict.status == "rejected" and c.level == "further"]
    assert any(c.dims in failed and c.verdict.status == "passed" for c in checks)


@pytest.mark.heavy
@pytest.mark.parametrize("cheat", [NOT_HELD_OUT, IN_THE_KERNEL], ids=["in launch", "in the kernel"])
def test_what_the_full_verdict_rejects_is_rewarded_nothing_from_then_on(
    terms: RewardTerms, tmp_path: Path, cheat: str
) -> None:
    with open_service(replace(terms, full_share=1.0), tmp_path / "run") as service:
        honest = service.score([Sample("honest", HONEST)])[0]
        first, copy = service.score([Sample("a", cheat), Sample("b", cheat)])
        assert not first.reward
        assert not copy.reward
        later = service.score([Sample("c", cheat)])[0]
        assert not later.reward
        if honest.reward and first.reward == 0.0:
            assert first.why == copy.why == later.why
            assert first.why in (IN_FULL, SECRET_SHAPE)
            assert service.score([Sample("honest again", HONEST)])[0].reward != 0.0
    assert audit(tmp_path / "run").problems == []


def test_a_sample_sent_again_gets_the_same_and_is_not_tried_again(service: RewardService, folder: Path) -> None:
    sample = Sample("once", ALSO_HONEST)
    first = service.score([sample])
    before = len(Run(folder).entries)
    assert service.score([sample]) == first
    assert len(Run(folder).entries) == before


def test_equal_replies_of_a_batch_are_tried_once(score: Score, folder: Path) -> None:
    before = Run(folder).trials
    text = HONEST.replace("FLAGS", "# new\nFLAGS")
    rewards = {scored.reward for scored in score(*[text] * 6)}
    assert len(rewards) == 1
    assert len(Run(folder).trials) - len(before) <= 2  # a second try where the first told nothing


@pytest.mark.heavy
def test_the_best_of_a_batch_is_rewarded_first_so_that_no_other_is_a_new_best(
    terms: RewardTerms, tmp_path: Path
) -> None:
    texts = [WRONG, "no kernel", HONEST, *(HONEST.replace("FLAGS", f"# {n}\nFLAGS") for n in range(3)), ALSO_HONEST]
    samples = [Sample(f"s{n}", text) for n, text in enumerate(texts)]
    with open_service(replace(terms, full_share=0.0), tmp_path / "run") as service:
        assert [scored.id for scored in service.score(samples)] == [sample.id for sample in samples]
    given = [record.reward or 0.0 for record in Run(tmp_path / "run").records(REWARD)]
    assert given[0] == max(given)
    rest = [record.sample for record in Run(tmp_path / "run").records(REWARD)[1:]]
    assert rest == sorted(rest)
    full = [check for check in Run(tmp_path / "run").records(REWARD_CHECK) if check.level == "full"]
    assert len(full) == (1 if given[0] else 0)
    assert audit(tmp_path / "run").problems == []


def test_every_batch_with_a_kernel_has_one_look_at_the_machine(score: Score, folder: Path) -> None:
    before = Run(folder).count(REWARD_BATCH)
    score("no kernel")
    assert Run(folder).count(REWARD_BATCH) == before
    score(HONEST, WRONG)
    assert Run(folder).count(REWARD_BATCH) == before + 1


@pytest.mark.parametrize(
    ("samples", "what"),
    [
        ([Sample("x1", HONEST, "sphere")], "there is no task 'sphere' here"),
        ([Sample("x2", HONEST, "cube", "N=5003")], "cube is not rewarded at N=5003"),
        ([Sample("x3", HONEST, "cube", "N=1")], "cube is not rewarded at N=1"),
        ([Sample("x4", HONEST, "cube", "M=2")], "'M=2' is not a shape of task cube"),
        ([Sample("x5", HONEST), Sample("x5", HONEST)], "the id 'x5' stands twice"),
        ([Sample(f"x6{n}", HONEST) for n in range(33)], "a batch of 33 samples is too large"),
    ],
)
def test_a_batch_that_is_off_is_refused_as_a_whole(
    service: RewardService, folder: Path, samples: list[Sample], what: str
) -> None:
    before = len(Run(folder).entries)
    with pytest.raises(UsageError) as caught:
        service.score(samples)
    assert what in caught.value.what
    assert "5003" not in caught.value.fix
    assert len(Run(folder).entries) == before


@pytest.mark.heavy
def test_a_prompt_is_the_same_before_and_after_its_replies_were_timed_and_in_a_data_set(
    terms: RewardTerms, tmp_path: Path
) -> None:
    with open_service(terms, tmp_path / "run") as service:
        asked = service.prompts()
        service.score([Sample("first", HONEST, asked[0]["task"], asked[0]["shape"])])
        assert service.prompts() == asked
    (row,) = dataset_of([tmp_path / "run"]).rows
    assert row["prompt"] == asked[0]["prompt"]
    assert len(row["code"]) == 64


def test_an_id_belongs_to_one_reply(service: RewardService) -> None:
    service.score([Sample("mine", "no kernel")])
    with pytest.raises(UsageError, match="was given to another reply"):
        service.score([Sample("mine", HONEST)])


def test_nothing_that_is_told_names_a_shape_that_is_kept_back(score: Score, folder: Path) -> None:
    loud = HONEST.replace(
        'kernel("cube")', 'assert x.size in (1, 7, 1025, 32768), f"size {x.size}"\n    kernel("cube")'
    )
    (scored,) = score(loud)
    told = str(scored.data())
    assert scored.reward == 0.0
    shapes = {c.dims["N"] for c in Run(folder).records(REWARD_CHECK)} | {5003}
    assert not any(f"size {n}" in told for n in shapes)


def test_everything_so_far_is_audited(folder: Path) -> None:
    report = audit(folder)
    assert report.problems == []
    assert report.figures > 4 * Run(folder).count(REWARD)
    ids = Counter(record.sample for record in Run(folder).records(REWARD))
    assert set(ids.values()) == {1}


def test_nobody_adds_a_sample_to_somebody_elses_exam(service: RewardService, folder: Path) -> None:
    service.examined(RewardExam(model="m", weights="w", count=1, longest=8, temperature=1.0, seed=0))
    given = [Sample(f"exam-{n}", text) for n, text in enumerate(["nothing", HONEST])]
    with pytest.raises(UsageError, match="this exam has its samples"):
        service.score(given)
    assert service.score(given[:1])[0].reward == 0.0
    with pytest.raises(UsageError, match="this exam has its samples"):
        service.score(given[1:])
    assert audit(folder).problems == []
