"""contrastive_select(), best() and explain() over a run with a trial of every kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.cube_run import cube_run

from kernellab.core.errors import UsageError
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.tools import best, contrastive_select, explain

pytestmark = pytest.mark.backend_c


@pytest.fixture(scope="module")
def run(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trials of the small task's own recipe: measured, rejected, invalid and duplicate ones."""
    return Path(shutil.copytree(cube_run(tmp_path_factory), tmp_path_factory.mktemp("runs") / "first"))


@pytest.mark.heavy
def test_chooses_the_same_exemplars_for_the_same_seed_and_says_why(run: Path) -> None:
    found = contrastive_select(run, 3, "bucket", 0.5, seed=4)
    assert found == contrastive_select(run, 3, "bucket", 0.5, seed=4)
    assert len(found.chosen) == 3
    assert found.chosen[0].speedup is not None
    assert all(c.why for c in found.chosen)
    assert any(c.beside is not None and c.contrast for c in found.chosen[1:])
    assert {c.island for c in contrastive_select(run, 2, "island").chosen} != {None}


@pytest.mark.parametrize(("n", "tau"), [(0, 0.1), (17, 0.1), (3, -1.0), (3, float("nan"))])
def test_refuses_numbers_that_make_no_choice(run: Path, n: int, tau: float) -> None:
    with pytest.raises(UsageError):
        contrastive_select(run, n, "bucket", tau)


def test_the_best_is_the_confirmed_one(run: Path) -> None:
    found = best([run])
    assert [(r.task, r.shape, r.run) for r in found.rows] == [("cube", "N=32768", "first")]
    assert found.rows[0].speedup_low <= found.rows[0].speedup
    assert best([run], "softmax").unconfirmed == ("first",)


def test_a_run_that_is_damaged_or_of_another_kind_claims_nothing(run: Path, tmp_path: Path) -> None:
    Ledger.create(tmp_path / "other", {"purpose": "something else"}, load_or_create_key()).close()
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "ledger.jsonl").write_text("{}\n{}\n")
    found = best([tmp_path / "other", tmp_path / "torn", run])
    assert len(found.rows) == 1
    assert found.unconfirmed == ("other", "torn")
    assert contrastive_select(tmp_path / "other").chosen == ()


def test_explains_the_best_with_verdict_time_and_bound(run: Path) -> None:
    found = explain(run)
    text = "\n".join(found.words)
    assert found.trial == best([run]).rows[0].trial
    for word in ("held-out shapes included", " a call", "bound by", "ULP"):
        assert word in text
    assert "5003" not in text


def test_explains_a_failure_and_what_the_best_did_otherwise(run: Path) -> None:
    texts = {}
    for number in range(8):
        found = explain(run, number)
        texts.setdefault(found.status, "\n".join(found.words))
    assert {"measured", "rejected", "invalid"} <= set(texts)
    assert "a step of nothing" in texts["invalid"]
    assert "wrong-output" in texts["rejected"]
    assert "the fastest here" in texts["rejected"]


def test_a_trial_that_is_not_there_is_refused(run: Path) -> None:
    with pytest.raises(UsageError, match="no trial 99"):
        explain(run, 99)
