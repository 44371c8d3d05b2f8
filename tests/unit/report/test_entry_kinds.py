"""Every entry of every published ledger is read into its record, and a record is written as it was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.recorded import GENESIS, calibration

from kernellab.core.ids import canonical_json
from kernellab.ledger import kinds
from kernellab.ledger.journal import read_entries
from kernellab.ledger.records import EntryRecord, Genesis, OtherGenesis, Published, Unpublished
from kernellab.report.entry_kinds import ENTRY_KINDS

RUNS = Path(__file__).parents[3] / "runs"
LEDGERS = sorted(path.parent for path in RUNS.glob("*/*/ledger.jsonl"))
NOT_VERIFIED = {"task": "cube", "dims": {"N": 8}, "dtype": "float32", "status": "nothing-verified", "reason": "none passed",
                "threads": 1, "trial": None}  # fmt: skip


def test_there_are_published_ledgers() -> None:
    assert len(LEDGERS) >= 17


@pytest.mark.parametrize("folder", LEDGERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_entry_of_a_published_ledger_is_read_and_written_as_it_was(folder: Path) -> None:
    for entry in read_entries(folder):
        kind = ENTRY_KINDS[entry.kind]
        record = kind.read(entry.body)
        plain = kind.plain(record)
        if isinstance(record, EntryRecord):
            assert canonical_json(plain) == canonical_json(entry.body), f"entry {entry.seq}"
        else:  # trials and confirmations write their defaults, which older versions did not have
            assert _within(entry.body, plain), f"entry {entry.seq}"
        assert kind.read(plain) == record


def _within(old: Any, new: Any) -> bool:
    """Everything of the old body stands in the new one, which may say more."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(name in new and _within(value, new[name]) for name, value in old.items())
    return bool(old == new)


def test_a_kind_has_one_name() -> None:
    assert all(name == kind.name for name, kind in ENTRY_KINDS.items())
    assert len({id(kind) for kind in ENTRY_KINDS.values()}) == len(ENTRY_KINDS) == 39


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"floor_s": "0.5"}, "floor_s\n  Input should be a valid number"),
        ({"ceilings": {"copy": "1", "read": 1.0, "flops": 1.0}}, "ceilings.copy\n  Input should be a valid number"),
        ({"threads": True}, "threads\n  Input should be a valid integer"),
        ({"future": 1}, "future\n  Extra inputs are not permitted"),
        ({"fastest": "other"}, "other is no baseline that was timed"),
        ({"disturbed": ["gone"]}, "gone is no baseline that was timed"),
        ({"aa": [[1.0, 2.0], [1.0]]}, "samples come in pairs"),
        ({"baselines": {"baseline": [[], []]}}, "samples come in pairs"),
        ({"noise_floor": float("nan")}, "noise_floor\n  Input should be a finite number"),
    ],
)
def test_a_calibration_that_is_none_is_refused_in_words(change: dict[str, Any], words: str) -> None:
    body = {**kinds.CALIBRATION.plain(calibration()), **change}
    with pytest.raises(ValidationError) as caught:
        kinds.CALIBRATION.read(body)
    assert words in str(caught.value)


def test_a_calibration_of_an_older_version_lacks_what_came_later() -> None:
    body = kinds.CALIBRATION.plain(calibration())
    del body["disturbed"]
    old = kinds.CALIBRATION.read(body)
    assert (old.disturbed, old.measured) == ([], None)
    assert kinds.CALIBRATION.plain(old) == body


def test_what_a_result_has_follows_from_whether_it_names_a_trial() -> None:
    assert isinstance(kinds.RESULT.read(NOT_VERIFIED), Unpublished)
    with pytest.raises(ValidationError, match=r"published\.speedup_low\n  Field required"):
        kinds.RESULT.read({**NOT_VERIFIED, "status": "better", "trial": 3, "win": True})
    with pytest.raises(ValidationError, match="Input should be 'busy' or 'nothing-verified'"):
        kinds.RESULT.read({**NOT_VERIFIED, "status": "better"})
    entry = next(e for e in read_entries(LEDGERS[0]) if e.kind == "result")
    assert isinstance(kinds.RESULT.read(entry.body), Published)


def test_the_first_entry_of_a_laboratory_says_what_a_claim_rests_on() -> None:
    start = kinds.GENESIS.read(GENESIS)
    assert isinstance(start, Genesis)
    assert (start.format, start.settings.win_floor, start.files) == (2, 1.01, {})
    old = {k: v for k, v in GENESIS.items() if k not in ("format", "files")}
    older = kinds.GENESIS.read(old)
    assert isinstance(older, Genesis)
    assert (older.format, older.files) == (1, None)
    assert kinds.GENESIS.plain(older) == old
    settings = {k: v for k, v in GENESIS["settings"].items() if k != "win_floor"}
    with pytest.raises(ValidationError, match="they do not say win_floor"):
        kinds.GENESIS.read({**GENESIS, "settings": settings})
    with pytest.raises(ValidationError, match="candidates"):
        kinds.GENESIS.read({k: v for k, v in GENESIS.items() if k != "candidates"})


def test_settings_and_facts_of_another_version_are_kept_as_they_are() -> None:
    body = {**GENESIS, "settings": {**GENESIS["settings"], "moon": "full"}, "environment": {"device": "d", "tpu": "v9"}}
    start = kinds.GENESIS.read(body)
    assert kinds.GENESIS.plain(start) == body
    assert start.environment.facts["tpu"] == "v9"


def test_a_run_without_a_task_keeps_what_only_its_maker_knows() -> None:
    body = {"purpose": "tune-verifier", "settings": {}, "environment": {}, "candidates": [], "order": {"rounds": 3}}
    start = kinds.GENESIS.read(body)
    assert isinstance(start, OtherGenesis)
    assert kinds.GENESIS.plain(start) == body
