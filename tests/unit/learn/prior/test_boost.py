"""Boosting by itself: what it can learn, and that a forest says of its own rows what the training had for them."""

from __future__ import annotations

import numpy as np

from kernellab.learn.prior.boost import Boosting, boosted, logistic, squared

DICE = np.random.default_rng(5)
TABLE = DICE.normal(size=(400, 6))
GROUPS = np.repeat(np.arange(8), 50)
HOW = Boosting(trees=80, depth=3, rate=0.2, share=1.0, damping=1.0, bags=1)


def centred(values: np.ndarray) -> np.ndarray:
    return values - np.array([values[g == GROUPS].mean() for g in GROUPS])


def test_a_product_of_two_features_is_learned_within_tasks() -> None:
    truth = np.where((TABLE[:, 0] > 0) & (TABLE[:, 3] > 0.2), 1.0, 0.0)
    targets = truth + 100 * GROUPS
    forest = boosted(TABLE, GROUPS, np.ones(400), lambda w: squared(targets, w, GROUPS), 0.0, HOW, 0)
    assert np.abs(centred(forest(TABLE)) - centred(truth)).mean() < 0.05


def test_chances_are_learned() -> None:
    worked = (TABLE[:, 2] > 0.5).astype(float)
    forest = boosted(TABLE, GROUPS, np.ones(400), lambda w: logistic(worked, w), 0.0, HOW, 0)
    assert ((forest(TABLE) > 0) == (worked > 0)).mean() > 0.99


def test_what_is_not_known_goes_one_way_in_training_and_after() -> None:
    table = TABLE.copy()
    table[:200, 1] = np.nan
    targets = np.where(np.isnan(table[:, 1]), 1.0, 0.0)
    groups = np.arange(400) % 4
    forest = boosted(table, groups, np.ones(400), lambda w: squared(targets, w, groups), 0.0, HOW, 0)
    found = forest(table)
    assert found[:200].min() > found[200:].max()


def test_features_that_never_differ_are_no_fault() -> None:
    table = np.ones((40, 3))
    groups = np.arange(40) % 2
    forest = boosted(table, groups, np.ones(40), lambda w: squared(np.arange(40.0), w, groups), 0.0, HOW, 0)
    assert np.abs(forest(table) - forest(table)[0]).max() == 0
