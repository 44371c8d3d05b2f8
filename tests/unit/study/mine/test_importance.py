from __future__ import annotations

import random
import sys

import pytest

from kernellab.studies.mine.importance import importances

from .test_miner import table


def test_importance_is_a_share_of_the_spread() -> None:
    shares = importances(table(random.Random(0), 3.0), "rows")
    assert max(shares, key=lambda k: shares[k]) == "A"
    assert sum(shares.values()) == pytest.approx(1)


def test_too_few_trials_have_none() -> None:
    assert importances(table(random.Random(0))[:11], "rows") == {}


def test_without_optuna_there_is_none_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert importances(table(random.Random(0), 3.0), "rows") == {}
