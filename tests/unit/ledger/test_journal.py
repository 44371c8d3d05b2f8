from __future__ import annotations

import errno
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault, LedgerFault, UsageError
from kernellab.core.ids import canonical_json, digest
from kernellab.ledger import journal
from kernellab.ledger.check import check
from kernellab.ledger.journal import Entry, Ledger, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.merkle import leaf_hash, root_of


def lines(path: Path) -> list[bytes]:
    return path.read_bytes()[:-1].split(b"\n")


def test_the_genesis_names_the_run_and_carries_its_key(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path / "a" / "b", {"task": "softmax"}, key) as ledger:
        (genesis,) = read_entries(ledger.folder)
    assert genesis.kind == "run"
    assert genesis.body["task"] == "softmax"
    assert genesis.body["public_key"] == key.public.hex
    assert ledger.run_id == genesis.run == digest(genesis.body)[:16]
    with Ledger.create(tmp_path / "c", {"task": "softmax"}, key) as twin:
        assert twin.run_id != ledger.run_id


def test_an_entry_is_one_canonical_line_and_the_leaf_is_that_line(tmp_path: Path, key: SigningKey) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    with Ledger.create(tmp_path, {}, key, clock=lambda: noon) as ledger:
        entry = ledger.append("trial", {"b": 1.5, "a": "é\u2028\n"})
        assert ledger.size == 2
        root = ledger.root
    assert entry == Entry(1, "trial", "2026-01-02T12:00:00+00:00", ledger.run_id, {"a": "é\u2028\n", "b": 1.5})
    written = lines(tmp_path / "ledger.jsonl")
    assert written[1] == canonical_json(
        {"seq": 1, "kind": "trial", "time": entry.time, "run": entry.run, "body": entry.body}
    )
    assert root == root_of(map(leaf_hash, written)).hex() == check(tmp_path).root


def test_what_append_returns_is_what_a_reader_reads(tmp_path: Path, key: SigningKey) -> None:
    body = {"pairs": [(1, 2)], "by_size": {10: "ten", 9: "nine"}, "nested": {"list": [1]}}
    with Ledger.create(tmp_path, {}, key) as ledger:
        entry = ledger.append("trial", body)
        body["nested"]["list"].append(2)  # type: ignore[index]
        assert list(read_entries(tmp_path))[1] == entry
    assert entry.body == {"pairs": [[1, 2]], "by_size": {"10": "ten", "9": "nine"}, "nested": {"list": [1]}}
    assert check(tmp_path).problems == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\udc80", object(), b"bytes"])
def test_what_json_cannot_say_is_refused_and_nothing_is_written(tmp_path: Path, key: SigningKey, value: object) -> None:
    with Ledger.create(tmp_path, {}, key) as ledger:
        with pytest.raises(LedgerFault, match="'trial' entry cannot be recorded") as fault:
            ledger.append("trial", {"value": value})
        assert fault.value.fix
        assert ledger.append("trial", {}).seq == 1
    assert check(tmp_path).problems == ()


def test_a_folder_that_holds_a_ledger_is_not_started_again(run: Path, key: SigningKey) -> None:
    before = (run / "ledger.jsonl").read_bytes()
    with pytest.raises(UsageError) as error:
        Ledger.create(run, {}, key)
    assert error.value.fix == f"klab resume {run} or choose another --out"
    assert (run / "ledger.jsonl").read_bytes() == before


def test_resume_goes_on_where_the_run_stopped(run: Path, key: SigningKey) -> None:
    with Ledger.resume(run, key) as ledger:
        assert (ledger.size, ledger.root, ledger.run_id) == (10, check(run).root, check(run).run)
        assert ledger.append("trial", {}).seq == 10
    assert check(run).problems == ()
    assert [entry.seq for entry in read_entries(run)] == list(range(11))


@pytest.mark.parametrize("tail", [b'{"body":{"tri', b'{"body":{"tri\n', b"\0" * 100, b'{"body":{}}'])
def test_resume_cuts_off_a_torn_line_and_keeps_it_aside(run: Path, key: SigningKey, tail: bytes) -> None:
    sound = (run / "ledger.jsonl").read_bytes()
    (run / "ledger.jsonl").write_bytes(sound + tail)
    report = check(run)
    assert report.torn
    assert report.problems == ()
    assert len(list(read_entries(run))) == 10
    with Ledger.resume(run, key) as ledger:
        assert ledger.size == 10
    assert (run / "ledger.jsonl").read_bytes() == sound
    assert (run / "ledger.torn-10").read_bytes() == tail
    assert (check(run).torn, check(run).problems) == (False, ())


@pytest.mark.parametrize("kept", [0, 40])
def test_resume_adopts_a_line_without_a_head_and_says_so(run: Path, key: SigningKey, kept: int) -> None:
    """The killer struck between entry and head, or (kept > 0) in the middle of writing the head."""
    *heads, last = (run / "heads.jsonl").read_bytes().splitlines(keepends=True)
    (run / "heads.jsonl").write_bytes(b"".join(heads) + last[:kept])
    assert check(run).torn == (kept > 0)
    with Ledger.resume(run, key) as ledger:
        assert ledger.size == 11
    adopted = list(read_entries(run))[-1]
    assert (adopted.kind, adopted.body) == ("adopted", {"first": 9, "last": 9})
    assert (check(run).torn, check(run).problems) == (False, ())


def test_a_run_killed_right_after_its_genesis_can_be_resumed(tmp_path: Path, key: SigningKey) -> None:
    Ledger.create(tmp_path, {}, key).close()
    (tmp_path / "heads.jsonl").unlink()
    Ledger.resume(tmp_path, key).close()
    assert check(tmp_path).problems == ()


def test_another_key_cannot_resume(run: Path) -> None:
    other = SigningKey.generate()
    with pytest.raises(LedgerFault, match=other.fingerprint) as fault:
        Ledger.resume(run, other)
    assert "KLAB_HOME" in fault.value.fix


def test_a_failed_resume_lets_go_of_the_folder(run: Path, key: SigningKey) -> None:
    with pytest.raises(LedgerFault):
        Ledger.resume(run, SigningKey.generate())
    Ledger.resume(run, key).close()


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path, {}, key) as ledger:
        with pytest.raises(LedgerFault, match=f"process {os.getpid()}") as fault:
            Ledger.resume(tmp_path, key)
        assert fault.value.fix == "wait until it has ended, or start a new run elsewhere (--out)"
        ledger.append("trial", {})
    Ledger.resume(tmp_path, key).close()


def test_a_batch_signs_one_head_for_all_and_writes_each_entry_at_once(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path, {}, key) as ledger:
        with ledger.batch(), ledger.batch():
            for number in range(20):
                ledger.append("trial", {"trial": number})
                assert len(lines(tmp_path / "ledger.jsonl")) == number + 2
            assert check(tmp_path).problems != ()
        assert check(tmp_path).problems == ()
    heads = [json.loads(line) for line in lines(tmp_path / "heads.jsonl")]
    assert [head["size"] for head in heads] == [1, 21]


def test_a_batch_that_fails_still_signs_what_it_wrote(tmp_path: Path, key: SigningKey) -> None:
    ledger = Ledger.create(tmp_path, {}, key)

    def fail_halfway() -> None:
        with ledger.batch():
            ledger.append("trial", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert (check(tmp_path).problems, check(tmp_path).heads) == ((), 2)
    ledger.close()


def test_threads_may_share_a_ledger(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path, {}, key) as ledger:
        work = [
            threading.Thread(target=lambda: [ledger.append("trial", {"x": i}) for i in range(50)]) for _ in range(4)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    assert check(tmp_path).size == 201
    assert check(tmp_path).problems == ()


def test_a_fork_may_not_write_and_does_no_harm_by_closing(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path, {}, key) as ledger:
        child = os.fork()
        if child == 0:
            refused = 1
            try:
                ledger.append("trial", {})
            except LedgerFault:
                refused = 0
            ledger.close()
            os._exit(refused)
        assert os.waitpid(child, 0)[1] == 0
        ledger.append("trial", {})
    assert (check(tmp_path).size, check(tmp_path).problems) == (2, ())


def test_a_closed_ledger_takes_nothing_and_closes_again(tmp_path: Path, key: SigningKey) -> None:
    ledger = Ledger.create(tmp_path, {}, key)
    ledger.close()
    ledger.close()
    with pytest.raises(ValueError, match="closed"):
        ledger.append("trial", {})


def test_reading_refuses_what_is_missing_or_garbled(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no ledger") as fault:
        read_entries(tmp_path)
    assert fault.value.fix
    written = lines(run / "ledger.jsonl")
    (run / "ledger.jsonl").write_bytes(b"\n".join([written[0], b"garbage", *written[2:]]) + b"\n")
    with pytest.raises(LedgerFault, match="line 2") as fault:
        list(read_entries(run))
    assert "klab audit" in fault.value.fix


class FullDisk:
    """Refuses what is written to one of the files, or to be cut back, while it is `full`."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        self.full, self.stuck, self._name = False, False, name
        self._write, self._cut = os.write, os.ftruncate
        patch.setattr(os, "write", self.write)
        patch.setattr(os, "ftruncate", self.cut)

    def write(self, fd: int, data: bytes) -> int:
        if self.full and os.readlink(f"/proc/self/fd/{fd}").endswith(self._name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(fd, data)

    def cut(self, fd: int, size: int) -> None:
        if self.stuck:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._cut(fd, size)


def test_what_a_batch_could_not_sign_is_signed_when_the_ledger_is_closed(
    tmp_path: Path, key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch, "heads.jsonl")
    ledger = Ledger.create(tmp_path / "run", {}, key)

    def cut_short() -> None:
        with ledger.batch():
            ledger.append("trial", {"trial": 0})
            disk.full = True

    with pytest.raises(LedgerFault, match="No space left"):
        cut_short()
    assert check(tmp_path / "run").problems == (
        "entries 1..1 have no signed head (a killed writer; klab resume adopts them)",
    )
    disk.full = False
    ledger.close()
    assert check(tmp_path / "run").problems == ()


def test_bytes_that_cannot_be_cut_off_are_told_and_nothing_is_written_after_them(
    tmp_path: Path, key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch, "heads.jsonl")
    ledger = Ledger.create(tmp_path / "run", {}, key)
    disk.full = disk.stuck = True
    with pytest.raises(LedgerFault, match=r"heads.jsonl.*No space left"):
        ledger.append("trial", {"trial": 0})
    disk.full = False
    with pytest.raises(LedgerFault, match=r"ledger.jsonl.*Input/output error"):
        ledger.append("trial", {"trial": 0})
    disk.stuck = False
    ledger.append("trial", {"trial": 0})
    ledger.close()
    assert (check(tmp_path / "run").size, check(tmp_path / "run").problems) == (2, ())


@pytest.mark.parametrize(("where", "step"), [(journal, "sync_folder"), (Path, "rename")], ids=["sync", "rename"])
def test_a_run_that_could_not_be_begun_leaves_nothing_behind(
    where: object, step: str, tmp_path: Path, key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(where, step, refuse)
        with pytest.raises(EnvironmentFault, match="Input/output error"):
            Ledger.create(tmp_path / "run", {}, key)
    assert not [p for p in (tmp_path / "run").iterdir() if "jsonl" in p.name]
    Ledger.create(tmp_path / "run", {}, key).close()
    assert check(tmp_path / "run").problems == ()
