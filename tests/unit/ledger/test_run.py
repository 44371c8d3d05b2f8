"""The reader of runs, on published ledgers and on ones that are cut or malformed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.recorded import GENESIS, calibration

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import MeasuredTrial
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.records import End, Environment, Published, Resume, Unpublished
from kernellab.ledger.run import Run, place_of, well_formed
from kernellab.ledger.shapes import shapes_of

PUBLISHED = Path(__file__).parents[3] / "runs" / "h200" / "softmax-bf16"
NOTHING = Unpublished(
    task="cube", dims={"N": 8}, dtype="f", status="nothing-verified", reason="r", threads=1, trial=None
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that was calibrated, gone on with elsewhere, and calibrated again."""
    with Ledger.create(tmp_path / "run", GENESIS, SigningKey.generate()) as ledger:
        ledger.write(kinds.CALIBRATION, calibration(noise_floor=0.1))
        ledger.write(kinds.RESUME, Resume(environment=Environment(device="another"), trials=0))
        ledger.write(kinds.CALIBRATION, calibration(noise_floor=0.2))
        ledger.write(kinds.RESULT, NOTHING)
    return tmp_path / "run"


def test_a_published_run_is_read_by_kind_with_the_place_of_every_entry() -> None:
    run = Run(PUBLISHED)
    whole = list(read_entries(PUBLISHED))
    assert [e.seq for e in run.of(kinds.TRIAL)] == [e.seq for e in whole if e.kind == "trial"]
    assert [t.trial for t in run.trials] == list(range(len(run.trials)))
    assert run.count(kinds.TRIAL) == len(run.trials)
    assert run.genesis.task.name == "softmax_bf16"
    assert run.trial(3) is run.trials[3]
    assert len(run.results) == len(run.genesis.shapes)
    assert run.source(run.trials[0]).startswith('"""')
    assert (run.root, run.ended) == (check(PUBLISHED).root, True)


def test_a_prefix_ends_where_it_is_cut() -> None:
    cut = Run(PUBLISHED, 5)
    assert len(cut.entries) == 5
    assert cut.root != Run(PUBLISHED).root


def test_a_trial_that_is_not_there_is_named_with_those_that_are(folder: Path) -> None:
    with pytest.raises(UsageError, match="has no trial 400") as caught:
        Run(PUBLISHED).trial(400)
    assert caught.value.fix == f"it has trials 0 to {len(Run(PUBLISHED).trials) - 1}"
    with pytest.raises(UsageError, match="has no trial 0") as caught:
        Run(folder).trial(0)
    assert caught.value.fix == "it has none"


def test_calibration_and_environment_are_those_in_force_at_an_entry(folder: Path) -> None:
    run = Run(folder)
    assert run.calibration_at("cube", {"N": 8}, 1) is None
    noises = [found.noise_floor for seq in (2, 3, 4) if (found := run.calibration_at("cube", {"N": 8}, seq))]
    assert noises == [0.1, 0.1, 0.2]
    assert [run.environment_at(seq).device for seq in (0, 1, 2, 4)] == [
        "a processor",
        "a processor",
        "another",
        "another",
    ]
    assert not run.ended


def test_a_run_that_was_gone_on_with_has_not_ended(folder: Path) -> None:
    key = SigningKey.generate()
    with Ledger.create(folder.with_name("again"), GENESIS, key) as ledger:
        ledger.write(kinds.END, End(results=[]))
        assert Run(ledger.folder).ended
        ledger.write(kinds.RESUME, Resume(environment=Environment(), trials=0))
        assert not Run(ledger.folder).ended


def test_the_last_result_of_a_shape_stands(folder: Path) -> None:
    key = SigningKey.generate()
    with Ledger.create(folder.with_name("again"), GENESIS, key) as ledger:
        for reason in ("first", "second"):
            ledger.write(kinds.RESULT, NOTHING.model_copy(update={"reason": reason}))
    assert [result.reason for result in Run(ledger.folder).results] == ["second"]


def test_a_malformed_record_is_named_by_its_entry_and_field(folder: Path) -> None:
    with Ledger.create(folder.with_name("bad"), GENESIS, SigningKey.generate()) as ledger:
        ledger.append("trial", {"trial": 0, "status": "splendid"})
    with pytest.raises(
        LedgerFault, match=r"entry 1 \(trial\): .*splendid|entry 1 \(trial\): : Input tag 'splendid'"
    ) as bad:
        Run(ledger.folder).trials  # noqa: B018
    assert bad.value.fix == f"see what was changed: klab audit {ledger.folder}"


def test_an_unknown_kind_is_counted_and_passed_over(folder: Path) -> None:
    with Ledger.create(folder.with_name("new"), GENESIS, SigningKey.generate()) as ledger:
        ledger.append("telepathy", {"said": "nothing"})
        ledger.write(kinds.RESULT, NOTHING)
    run = Run(ledger.folder)
    assert run.kinds == ["run", "telepathy", "result"]
    assert run.results == [NOTHING]


def test_the_first_entry_is_read_alone_whatever_follows(folder: Path) -> None:
    with (folder / "ledger.jsonl").open("ab") as file:
        file.write(b'{"no": "entry"}\n{"nor": "this"}\n')
    assert Run(folder).start.purpose == Run(folder).purpose == "search"
    with pytest.raises(LedgerFault, match="is not an entry"):
        Run(folder).trials  # noqa: B018


def test_a_run_without_a_task_says_so(tmp_path: Path) -> None:
    body = {"purpose": "tune-verifier", "settings": {}, "environment": {}, "candidates": []}
    Ledger.create(tmp_path / "run", body, SigningKey.generate()).close()
    with pytest.raises(UsageError, match="its purpose is 'tune-verifier'"):
        Run(tmp_path / "run").genesis  # noqa: B018


def test_an_empty_ledger_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(b"")
    with pytest.raises(LedgerFault, match="empty ledger"):
        Run(tmp_path).start  # noqa: B018


def test_what_goes_wrong_with_a_record_is_a_fault_of_the_ledger(tmp_path: Path) -> None:
    with (
        pytest.raises(LedgerFault, match="not well-formed: IndexError: list index out of range"),
        well_formed(tmp_path),
    ):
        [][1]


def test_shapes_hold_what_was_asked_for_and_what_came_of_it() -> None:
    run = Run(PUBLISHED)
    shapes = shapes_of(run)
    assert [place_of(s.task, s.dims) for s in shapes] == [place_of("softmax_bf16", d) for d in run.genesis.shapes]
    assert sum(len(s.trials) for s in shapes) == len(run.trials)
    for shape in shapes:
        assert shape.result is not None
        found, result = shape.published, shape.result.record
        assert isinstance(result, Published)
        assert found is not None
        assert (found.trial.trial, found.timing.speedup) == (result.trial, result.speedup)
        assert found.confirmed.calibration is not None
        assert found.confirmed.calibration.seq < found.confirmed.entry.seq
        assert isinstance(found.trial, MeasuredTrial)


def test_a_shape_without_a_published_kernel_has_none(folder: Path) -> None:
    (shape,) = shapes_of(Run(folder))
    assert (shape.published, shape.trials, shape.label) == (None, [], "N=8")
    assert shape.calibration is not None
    assert shape.calibration.record.noise_floor == 0.2
