"""Recorded runs as spaces to learn from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.recorded import CUBE
from tests.support.softmax_run import softmax_run

from kernellab.core.errors import LedgerFault
from kernellab.learn.prior.spaces import read_spaces, runs_in, structure_of
from kernellab.ledger.run import Run

SUITE = Path(__file__).parents[4] / "runs" / "lab-cpu"
ONE = SUITE / "runs" / "masked_softmax-f32"


def test_a_run_is_a_space_with_what_its_trials_came_to() -> None:
    (space,) = read_spaces([ONE]).spaces
    assert (space.task, space.structure, space.kind) == ("masked_softmax-f32", "masked_softmax", "cpu")
    trials = Run(ONE).trials
    assert [t.params for t in space.tried] == [dict(t.proposal.params) for t in trials]
    names = [space.site.written[t.candidate].name for t in space.tried]
    assert names == [t.proposal.name for t in trials]
    assert any(t.speedup is not None for t in space.tried)


def test_a_suites_folder_stands_for_its_runs() -> None:
    found = runs_in(SUITE)
    assert ONE in found
    assert SUITE not in found
    assert runs_in(ONE) == [ONE]


def test_a_task_without_a_graph_is_left_out_and_counted(tmp_path_factory: pytest.TempPathFactory) -> None:
    run, _ = softmax_run(tmp_path_factory)
    found = read_spaces([run])
    assert not found.spaces
    assert found.left_out == {"of a task without generated candidates": len(Run(run).trials)}


def test_a_task_that_has_changed_since_is_left_out_and_counted() -> None:
    """Its fingerprint is another one now; the ledger is sound all the same."""
    found = read_spaces([CUBE, ONE])
    assert [space.task for space in found.spaces] == ["masked_softmax-f32"]
    assert found.left_out["of a task that this version has otherwise"] == len(Run(CUBE).trials)


def test_a_ledger_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(ONE, folder)
    ledger = folder / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"speedup":', '"speedup": 9', 1))
    with pytest.raises(LedgerFault, match="is not sound"):
        read_spaces([folder])


@pytest.mark.parametrize(
    ("task", "structure"),
    [
        ("formula_3a831c574c8d_673", "3a831c574c8d"),
        ("formula_3a831c574c8d_673-bf16", "3a831c574c8d"),
        ("gemm-f32", "gemm"),
        ("gemm-bf16-backward", "gemm"),
        ("layer_norm_backward-f32", "layer_norm_backward"),
    ],
)
def test_types_and_numbers_do_not_make_a_structure(task: str, structure: str) -> None:
    assert structure_of(task) == structure
