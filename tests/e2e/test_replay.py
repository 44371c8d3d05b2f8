"""Doing it again from the record alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import Klab
from .conftest import Recorded

pytestmark = pytest.mark.backend_c


@pytest.mark.sample(1)
@pytest.mark.parametrize("status", ["rejected", "invalid", "build-failed"])
def test_a_trial_that_failed_fails_again_and_agrees(status: str, klab: Klab, recorded: Recorded) -> None:
    number = recorded.trial(status)
    done = klab("replay", recorded.folder, number, "--json")
    assert done.code == 0, done.err
    assert (done.json["recorded"], done.json["status"], done.json["agrees"]) == (status, status, True)
    then = recorded.trials[number]
    if status == "rejected":
        assert done.json["same_machine_code"]
        assert done.json["reason"].startswith(then["verdict"]["cause"])
    else:
        assert done.json["reason"] == then["reason"]
    assert done.json["ledger_root"] == recorded.done.json["ledger_root"]


@pytest.mark.heavy
def test_a_measured_trial_gives_the_same_machine_code_and_is_measured_again(klab: Klab, recorded: Recorded) -> None:
    """Whether two short measurements agree is up to the machine; the verdict must follow from the figures."""
    number = recorded.trial("measured")
    done = klab("replay", recorded.folder, number, "--json")
    row, then = done.json, recorded.trials[number]["timing"]
    assert row["same_machine_code"]
    assert (row["recorded"], row["status"], row["then"]) == ("measured", "measured", then["speedup"])
    assert row["max_ulp"] == recorded.trials[number]["verdict"]["max_ulp"]
    overlap = row["speedup_low"] <= then["speedup_high"] and then["speedup_low"] <= row["speedup_high"]
    near = max(row["speedup"] / then["speedup"], then["speedup"] / row["speedup"]) < 1.15
    assert row["agrees"] == (overlap or near)
    assert done.code == (0 if row["agrees"] else 3)


@pytest.mark.slow
def test_a_duplicate_is_built_to_the_same_machine_code(klab: Klab, recorded: Recorded) -> None:
    done = klab("replay", recorded.folder, recorded.trial("duplicate"), "--json")
    assert (done.code, done.json["agrees"], done.json["same_machine_code"]) == (0, True, True)


@pytest.mark.slow
def test_replay_for_people(klab: Klab, recorded: Recorded) -> None:
    done = klab("replay", recorded.folder, recorded.trial("rejected"))
    assert done.code == 0
    assert "machine code identical, byte for byte" in done.out
    assert done.out.rstrip().endswith("agrees")


@pytest.mark.parametrize("number", [5, 99])
def test_a_trial_that_is_not_there_is_a_usage_error(number: int, klab: Klab, recorded: Recorded) -> None:
    klab("replay", recorded.folder, number, "--json").failed(2, f"no trial {number}", "0 to 4")


def test_replay_changes_nothing_in_the_folder(klab: Klab, recorded: Recorded, copied: Path) -> None:
    before = {p: p.read_bytes() for p in copied.rglob("*") if p.is_file()}
    klab("replay", copied, recorded.trial("invalid"), "--json")
    assert {p: p.read_bytes() for p in copied.rglob("*") if p.is_file()} == before


@pytest.mark.heavy
def test_an_audit_measures_the_published_trial_again(klab: Klab, recorded: Recorded) -> None:
    done = klab("audit", recorded.folder, "--rerun", 1, "--json")
    (row,) = done.json["rerun"]
    assert row["trial"] == recorded.done.json["trial"]
    assert row["status"] == "measured"
    assert row["same_machine_code"]
    assert (done.code, done.json["status"]) == ((0, "ok") if row["agrees"] else (5, "failed"))
