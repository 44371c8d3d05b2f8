from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.ledger.index import TrialRow, best_trials, count_by_status, open_index, trials
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey


def measured(trial: int, speedup: float, task: str = "softmax", cols: int = 64) -> dict[str, Any]:
    return {
        "status": "measured", "trial": trial, "task": task, "dims": {"rows": 8, "cols": cols},
        "proposal": {"name": "online", "params": {"unroll": 4}, "source": "5" * 64},
        "artifact": {"id": "a" * 64}, "verdict": {"status": "passed"},
        "timing": {"speedup": speedup, "speedup_low": speedup - 0.1, "speedup_high": speedup + 0.1},
    }  # fmt: skip


REJECTED = {
    "status": "rejected",
    "trial": 9,
    "task": "softmax",
    "dims": {"rows": 8, "cols": 64},
    "verdict": {"status": "rejected", "cause": "wrong-output", "reason": "one row is wrong"},
}


def write(folder: Path, key: SigningKey, *bodies: dict[str, Any]) -> None:
    opened = Ledger.resume(folder, key) if (folder / "ledger.jsonl").exists() else Ledger.create(folder, {}, key)
    with opened as ledger:
        for body in bodies:
            ledger.append("trial", body)
        ledger.append("note", {"text": "not a trial"})


def test_a_trial_becomes_one_flat_row(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path, key, measured(0, 1.5), REJECTED, {})
    rows = trials(open_index(tmp_path))
    assert rows[0] == TrialRow(
        seq=1, trial=0, task="softmax", dims='{"cols":64,"rows":8}', status="measured", name="online",
        params='{"unroll":4}', speedup=1.5, low=1.4, high=1.6, reason=None,
        source="5" * 64, artifact="a" * 64,
    )  # fmt: skip
    assert (rows[1].status, rows[1].reason, rows[1].speedup) == ("rejected", "one row is wrong", None)
    assert (rows[2].seq, rows[2].status, rows[2].task) == (3, None, None)


def test_a_failed_build_keeps_its_own_reason(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path, key, {"status": "build-failed", "reason": "no compiler", "artifact": None})
    assert [row.reason for row in trials(open_index(tmp_path))] == ["no compiler"]


def test_the_best_of_every_task_and_shape_and_the_count_of_every_status(tmp_path: Path, key: SigningKey) -> None:
    write(
        tmp_path, key, measured(0, 1.5), measured(1, 2.5), measured(2, 2.5), measured(3, 0.5, cols=128),
        measured(4, 3.0, task="gelu"), REJECTED,
    )  # fmt: skip
    conn = open_index(tmp_path)
    assert [(row.task, row.dims, row.trial) for row in best_trials(conn)] == [
        ("gelu", '{"cols":64,"rows":8}', 4),
        ("softmax", '{"cols":128,"rows":8}', 3),
        ("softmax", '{"cols":64,"rows":8}', 1),
    ]
    assert count_by_status(conn) == {"measured": 5, "rejected": 1}
    assert [row.trial for row in trials(conn, task="softmax", dims={"rows": 8, "cols": 64}, status="measured")] == [
        0,
        1,
        2,
    ]


def test_opening_again_catches_up_with_what_was_appended(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path, key, measured(0, 1.0))
    conn = open_index(tmp_path)
    conn.execute("UPDATE trials SET name = 'from the first pass'")
    conn.close()
    write(tmp_path, key, measured(1, 1.0))
    assert [row.name for row in trials(open_index(tmp_path))] == ["from the first pass", "online"]


def test_a_changed_prefix_or_another_run_throws_the_index_away(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path / "a", key, measured(0, 1.0))
    write(tmp_path / "b", key, measured(0, 7.0), measured(1, 8.0))
    open_index(tmp_path / "a").close()
    shutil.copy(tmp_path / "a" / "index.sqlite", tmp_path / "b" / "index.sqlite")
    assert [row.speedup for row in trials(open_index(tmp_path / "b"))] == [7.0, 8.0]
    ledger = tmp_path / "a" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"speedup":1.0', b'"speedup":9.0'))
    assert [row.speedup for row in trials(open_index(tmp_path / "a"))] == [9.0]


def test_a_shortened_ledger_throws_the_index_away(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path, key, measured(0, 1.0), measured(1, 1.0))
    open_index(tmp_path).close()
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:2]))
    assert [row.trial for row in trials(open_index(tmp_path))] == [0]


@pytest.mark.parametrize("garbage", [b"", b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, key: SigningKey, garbage: bytes) -> None:
    write(tmp_path, key, measured(0, 1.0))
    (tmp_path / "index.sqlite").write_bytes(garbage)
    assert len(trials(open_index(tmp_path))) == 1


def test_a_torn_tail_is_not_indexed_and_a_garbled_line_is_a_fault(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path, key, measured(0, 1.0))
    ledger = tmp_path / "ledger.jsonl"
    sound = ledger.read_bytes()
    ledger.write_bytes(sound + b'{"body":')
    assert len(trials(open_index(tmp_path))) == 1
    ledger.write_bytes(sound + b"garbage\n" + json.dumps({}).encode() + b"\n")
    with pytest.raises(LedgerFault, match="line 4") as fault:
        open_index(tmp_path)
    assert "klab audit" in fault.value.fix


def test_no_ledger_no_index(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no ledger"):
        open_index(tmp_path)
    assert not (tmp_path / "index.sqlite").exists()


def test_a_ledger_whose_entries_are_out_of_order_is_not_indexed(tmp_path: Path, key: SigningKey) -> None:
    write(tmp_path, key, measured(0, 1.5), measured(1, 1.6))
    path = tmp_path / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[2], lines[1], *lines[3:]]))
    with pytest.raises(LedgerFault, match=r"ledger.jsonl line 2 is not the next entry: seq 2 is out of order") as fault:
        open_index(tmp_path)
    assert fault.value.fix == f"see what was changed: klab audit {tmp_path}"
