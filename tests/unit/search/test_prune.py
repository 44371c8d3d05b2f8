"""What is let go of a run, what stays, and that its audit knows the difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.recorded import CUBE
from tests.support.resign import resigned

from kernellab.core.errors import LedgerFault
from kernellab.core.records import FailedTrial, MeasuredTrial
from kernellab.evaluate.one_artifact import blobs_of
from kernellab.ledger.journal import read_entries
from kernellab.ledger.keys import SigningKey, load_or_create_key
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.report.audit import audit
from kernellab.search.prune import prune


@pytest.fixture
def mine(own_home: None, tmp_path: Path) -> Path:
    return resigned(CUBE, tmp_path / "run", lambda _: None, load_or_create_key())


def test_only_machine_code_that_nothing_is_claimed_about_is_let_go_and_named(mine: Path) -> None:
    run, store = Run(mine), Store(mine)
    (confirmation,) = run.confirmations
    claimed = run.trials[confirmation.trial]
    assert isinstance(claimed, MeasuredTrial)
    kept = {t.proposal.source for t in run.trials} | set(blobs_of(claimed.artifact))
    kept |= set(blobs_of(confirmation.artifact)) if confirmation.artifact else set()
    built = {sha for t in run.trials if not isinstance(t, FailedTrial) for sha in blobs_of(t.artifact)}
    sizes = {sha: store.path(sha).stat().st_size for sha in built - kept if store.path(sha).exists()}
    assert sizes
    done = prune(mine)
    assert (done.removed, done.freed_bytes) == (len(sizes), sum(sizes.values()))
    assert not any(store.path(sha).exists() for sha in sizes)
    assert all(store.path(sha).exists() for sha in kept)
    last = list(read_entries(mine))[-1]
    assert (last.kind, last.body["blobs"]) == ("pruned", sorted(sizes))
    assert audit(mine).ok


def test_a_second_time_there_is_nothing_to_let_go_and_nothing_is_written(mine: Path) -> None:
    prune(mine)
    before = (mine / "ledger.jsonl").read_bytes()
    again = prune(mine)
    assert (again.removed, again.freed_bytes) == (0, 0)
    assert (mine / "ledger.jsonl").read_bytes() == before


def test_only_the_laboratory_that_made_a_run_prunes_it(own_home: None, tmp_path: Path) -> None:
    theirs = resigned(CUBE, tmp_path / "run", lambda _: None, SigningKey.generate())
    files = sorted(p for p in theirs.rglob("*") if p.is_file())
    with pytest.raises(LedgerFault, match="was signed by key"):
        prune(theirs)
    assert sorted(p for p in theirs.rglob("*") if p.is_file()) == files
