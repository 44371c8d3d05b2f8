"""Labels are the judge's own: a handful of trials, drawn at random, is built and judged again."""

from __future__ import annotations

import random

import pytest

from kernellab.core.settings import Settings
from kernellab.core.targets import home_of
from kernellab.propose.mutants import Sample
from kernellab.search.soft.hard import Threaded, label
from kernellab.search.soft.labelled import Labelled, LabelledSet

HANDFUL = 2


def again(labelled: LabelledSet, trials: list[Labelled]) -> list[Labelled]:
    samples = [Threaded(Sample(labelled.text(t), t.task, t.origin, t.operator, t.what), t.threads) for t in trials]
    return list(label(samples, Settings()))


def answer(trial: Labelled) -> tuple[bool | None, bool | None]:
    """Whether it builds and whether it is right. What reads outside its buffers may crash or give wrong numbers, by chance."""
    return trial.fate.failed, trial.fate.fails("soft_compile")


def agree(first: list[Labelled], second: list[Labelled]) -> None:
    known = {t.source: t for t in first}
    assert len(second) == len(first)
    for trial in second:
        was = known[trial.source]
        assert answer(trial) == answer(was), (was, trial)
        assert (trial.params, trial.family, trial.backend) == (was.params, was.family, was.backend)


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_random_handful_judged_again_gets_the_same_labels(own_home: None, labelled: LabelledSet) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"handful of seed {seed}")
    rng = random.Random(seed)
    quick = [t for t in labelled.trials if t.task == "softmax" and t.backend == "c" and t.threads == 1 and t.wall_s < 1]
    passed = rng.sample([t for t in quick if t.fate.failed is False], HANDFUL // 2)
    failed = rng.sample([t for t in quick if t.fate.failed], HANDFUL - HANDFUL // 2)
    agree(passed + failed, again(labelled, passed + failed))


def test_kernels_for_a_gpu_are_labelled_when_built(own_home: None, labelled: LabelledSet) -> None:
    cuda = [t for t in labelled.trials if home_of(t.backend) == "cuda" and t.backend == "cuda" and t.task == "softmax"]
    assert {t.fate.outcome for t in cuda} >= {"built", "build-failed"}
    chosen = [next(t for t in cuda if t.fate.outcome == outcome) for outcome in ("built", "build-failed")]
    found = again(labelled, chosen)
    if found:  # without the compiler nothing is labelled
        agree(chosen, found)
