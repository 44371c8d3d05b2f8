"""Training finds what was planted, on graphs that it was not shown; the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.support.planted import QUICK, eight_warps, planted

from kernellab.core.errors import UsageError
from kernellab.core.records import Param
from kernellab.learn.prior.train import folds, rows_of, table_of, train

SEEN = ("rows", "columns", "swish", "pointwise", "window")


def nothing_works(form: str, params: Mapping[str, Param]) -> float | None:
    return None


@pytest.mark.heavy
def test_an_effect_of_other_graphs_is_expected_of_one_that_was_not_shown() -> None:
    made = train([planted(name, eight_warps) for name in SEEN], QUICK)
    unseen = planted("shares", eight_warps)
    slow = made.slowdown(table_of(unseen))
    eight = np.array([t.params["WARPS"] == 8 for t in unseen.tried])
    assert slow[eight].max() < slow[~eight].min()
    chance = made.chance(table_of(unseen))
    fails = np.array([t.speedup is None for t in unseen.tried])
    assert chance[fails].max() < chance[~fails].min()
    assert made.spread < 0.3, "on graphs left out it is nearly right"


@pytest.mark.heavy
def test_the_same_runs_give_the_same_bytes_and_another_seed_others() -> None:
    spaces = [planted(name, eight_warps) for name in SEEN[:3]]
    assert train(spaces, QUICK).data() == train(spaces, QUICK).data()
    assert train(spaces, QUICK).data() != train(spaces, replace(QUICK, seed=1)).data()


def test_how_long_a_task_takes_at_all_has_no_say() -> None:
    def ten_times(form: str, params: Mapping[str, Param]) -> float | None:
        found = eight_warps(form, params)
        return None if found is None else 10 * found

    one = train([planted("rows", eight_warps), planted("swish", eight_warps)], QUICK)
    other = train([planted("rows", ten_times), planted("swish", eight_warps)], QUICK)
    assert np.allclose(one.slowdown.leaves, other.slowdown.leaves)


def test_failures_are_rows() -> None:
    rows = rows_of([planted("rows", eight_warps)])
    assert 0 < rows.worked.sum() < len(rows.groups)
    assert np.nanmin(rows.slowdowns) == 0


def test_what_cannot_be_learned_from_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="no trial of a generated candidate"):
        train([], QUICK)
    with pytest.raises(UsageError, match="fewer than two tasks with a kernel that works"):
        train([planted("rows", eight_warps), planted("swish", nothing_works)], QUICK)
    with pytest.raises(UsageError, match="runs on cpu and cuda"):
        train([planted("rows", eight_warps), replace(planted("swish", eight_warps), kind="cpu")], QUICK)


def test_one_structure_is_in_one_fold_whatever_the_order() -> None:
    names = ["a", "b", "a", "c", "d", "b"]
    parts = folds(names, 3)
    assert sorted(i for part in parts for i in part) == list(range(6))
    where = {names[i]: n for n, part in enumerate(parts) for i in part}
    assert all(where[name] == n for n, part in enumerate(parts) for name in {names[i] for i in part})
    turned = folds(names[::-1], 3)
    assert [{names[i] for i in part} for part in parts] == [{names[::-1][i] for i in part} for part in turned]
