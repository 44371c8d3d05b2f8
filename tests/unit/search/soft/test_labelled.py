"""The labelled trials that come with the repository, and splits that keep families together."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.propose.mutants import OPERATORS
from kernellab.search.soft.fate import SOFT_KINDS, SoftKind
from kernellab.search.soft.labelled import LabelledSet, family_of, read_labelled, split, write_labelled


def test_there_are_hundreds_of_real_trials_of_every_sort(labelled: LabelledSet) -> None:
    assert sum(t.backend == "c" for t in labelled.trials) >= 300
    assert {t.operator for t in labelled.trials} >= set(OPERATORS)
    fates = Counter(t.fate.cause or t.fate.outcome for t in labelled.trials)
    assert fates["passed"] >= 80
    assert fates["wrong-output"] >= 80
    assert min(fates["build-failed"], fates["out-of-bounds"]) >= 10
    for kind in SOFT_KINDS:
        answers = Counter(t.fate.fails(kind) for t in labelled.trials)
        assert min(answers[True], answers[False]) >= 20, kind


def test_no_file_says_what_it_is(labelled: LabelledSet) -> None:
    for trial in labelled.trials:
        text = labelled.text(trial)
        assert "CAUGHT_BY" not in text
        assert "catalogue:" not in text or "def launch(" not in text, trial.origin


@pytest.mark.parametrize("kind", SOFT_KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_family_is_on_both_sides_and_both_sides_hold_both_answers(
    labelled: LabelledSet, kind: SoftKind, seed: int
) -> None:
    halves = split(labelled, kind, seed)
    train, test = halves.train.trials, halves.test.trials
    assert not {t.family for t in train} & {t.family for t in test}
    assert not {t.source for t in train} & {t.source for t in test}
    assert len(train) + len(test) == len(labelled.answering(kind).trials)
    for side in (train, test):
        share = sum(bool(t.fate.fails(kind)) for t in side) / len(side)
        assert 0.02 < share < 0.98
    assert 0.6 < len(train) / len(test) < 1.7


def test_a_split_is_the_same_for_the_same_seed_and_another_for_another(labelled: LabelledSet) -> None:
    one, same, other = (split(labelled, "soft_numerics", seed, 20) for seed in (7, 7, 8))
    assert one == same
    assert one.families() != other.families()


def test_a_limit_takes_as_many_that_fail_as_pass(labelled: LabelledSet) -> None:
    halves = split(labelled, "soft_numerics", 0, 24)
    for _, half in halves.halves():
        assert Counter(bool(t.fate.fails("soft_numerics")) for t in half.trials) == {True: 12, False: 12}


def test_families_join_what_is_made_from_one_another() -> None:
    assert family_of("stencil3x3_direct") == family_of("stencil5x5_direct")
    assert family_of("cheat_cache_static") == family_of("cheat_cache_in_tls")
    assert family_of("honest_softmax_naive") != family_of("honest_softmax_online")


def test_a_set_of_one_answer_cannot_be_split(labelled: LabelledSet) -> None:
    right = labelled.only([t for t in labelled.trials if t.fate.failed is False])
    with pytest.raises(UsageError, match="too few"):
        split(right, "soft_numerics", 0)


def test_what_is_written_is_read_again(labelled: LabelledSet, tmp_path: Path) -> None:
    few = labelled.only(labelled.trials[:7])
    write_labelled(few, tmp_path)
    again = read_labelled(tmp_path)
    assert again == few
    assert again.digest == few.digest


def test_changed_missing_and_unreadable_files_are_refused_with_a_reason(labelled: LabelledSet, tmp_path: Path) -> None:
    few = labelled.only(labelled.trials[:2])
    with pytest.raises(UsageError, match=r"trials\.jsonl cannot be read"):
        read_labelled(tmp_path)
    write_labelled(few, tmp_path)
    good = (tmp_path / "sources.jsonl").read_text()
    (tmp_path / "sources.jsonl").write_text(good.replace("launch", "lunch"))
    with pytest.raises(UsageError, match="another hash"):
        read_labelled(tmp_path)
    (tmp_path / "sources.jsonl").write_text("")
    with pytest.raises(UsageError, match="lacks the source"):
        read_labelled(tmp_path)
    (tmp_path / "sources.jsonl").write_text(good)
    (tmp_path / "trials.jsonl").write_text(json.dumps({"source": "x"}) + "\n")
    with pytest.raises(UsageError, match="line 1 is not a labelled trial"):
        read_labelled(tmp_path)
