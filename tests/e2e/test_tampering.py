"""A run folder that somebody changed: the audit says so, names what, and exits with 5."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.report.audit import audit

from .command import Klab
from .conftest import Recorded

pytestmark = pytest.mark.backend_c
LEDGER, HEADS = "ledger.jsonl", "heads.jsonl"


def lines(folder: Path) -> list[bytes]:
    return (folder / LEDGER).read_bytes().splitlines(keepends=True)


def write(folder: Path, changed: list[bytes]) -> None:
    (folder / LEDGER).write_bytes(b"".join(changed))


def edit_sample(folder: Path) -> None:
    """One digit of one sample of the published confirmation."""
    whole = lines(folder)
    number = next(i for i, line in enumerate(whole) if b'"kind":"confirmation"' in line)
    entry = json.loads(whole[number])
    digits = repr(entry["body"]["timing"]["candidate_s"][0])
    place = 3
    changed = digits[:place] + ("1" if digits[place] != "1" else "2") + digits[place + 1 :]
    whole[number] = whole[number].replace(digits.encode(), changed.encode(), 1)
    write(folder, whole)


def cut_bytes(folder: Path) -> None:
    data = (folder / LEDGER).read_bytes()
    (folder / LEDGER).write_bytes(data[:-40])


def cut_lines(folder: Path) -> None:
    write(folder, lines(folder)[:-2])


def drop_a_line(folder: Path) -> None:
    whole = lines(folder)
    write(folder, [*whole[:3], *whole[4:]])


def swap_lines(folder: Path) -> None:
    whole = lines(folder)
    whole[2], whole[3] = whole[3], whole[2]
    write(folder, whole)


def repeat_a_line(folder: Path) -> None:
    whole = lines(folder)
    write(folder, [*whole[:3], whole[2], *whole[3:]])


def append_a_line(folder: Path) -> None:
    whole = lines(folder)
    last = json.loads(whole[-1])
    last["seq"] += 1
    write(folder, [*whole, json.dumps(last, sort_keys=True, separators=(",", ":")).encode() + b"\n"])


def remove_heads(folder: Path) -> None:
    (folder / HEADS).unlink()


def empty_ledger(folder: Path) -> None:
    (folder / LEDGER).write_bytes(b"")


def forge_a_head(folder: Path) -> None:
    whole = (folder / HEADS).read_bytes().splitlines(keepends=True)
    head = json.loads(whole[-1])
    head["sig"] = "00" * 64
    (folder / HEADS).write_bytes(
        b"".join([*whole[:-1], json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n"])
    )


def blob(folder: Path) -> Path:
    return max((p for p in (folder / "artifacts").rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)


def change_a_blob(folder: Path) -> None:
    path = blob(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def remove_a_blob(folder: Path) -> None:
    blob(folder).unlink()


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "bytes cut from the end": (cut_bytes, "truncated"),
    "lines cut from the end": (cut_lines, "truncated"),
    "a line taken out": (drop_a_line, "lines were deleted"),
    "an edited digit in a sample": (edit_sample, "were changed after they were signed"),
    "lines in another order": (swap_lines, "re-ordered"),
    "a line given twice": (repeat_a_line, "line 4"),
    "a line added without a signature": (append_a_line, "no signed head"),
    "no heads": (remove_heads, "no signed head"),
    "an empty ledger": (empty_ledger, "is empty"),
    "a forged head": (forge_a_head, "bad signature"),
    "a changed file in the store": (change_a_blob, "is corrupt"),
    "a removed file in the store": (remove_a_blob, "is missing"),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_run_fails_its_audit_and_the_change_is_named(what: str, klab: Klab, copied: Path) -> None:
    change, words = CHANGES[what]
    change(copied)
    done = klab("audit", copied, "--json")
    assert (done.code, done.json["status"]) == (5, "failed")
    assert any(words in p for p in done.json["problems"]), done.json["problems"]


def test_the_same_audit_for_people(klab: Klab, copied: Path) -> None:
    fine = klab("audit", copied)
    assert fine.code == 0
    assert "audit passed" in fine.out
    change_a_blob(copied)
    done = klab("audit", copied)
    assert done.code == 5
    assert "AUDIT FAILED" in done.out
    assert "is corrupt" in done.out


def test_what_is_shown_of_a_changed_run_says_that_it_was_changed(klab: Klab, copied: Path) -> None:
    assert klab("show", copied, "--json").json["status"] == "ok"
    edit_sample(copied)
    assert "NOT SOUND" in klab("show", copied).out
    assert klab("show", copied, "--json").json["status"] == "unsound"


def test_an_entry_of_another_run_is_a_foreign_one(klab: Klab, files: Path, copied: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    done = klab("verify", files / "wrong.py", "--task", files / "cube.py", "--shape", 4096, "--out", other, "--json")
    assert done.code == 4
    whole = lines(copied)
    whole[2] = lines(other)[2]
    write(copied, whole)
    found = klab("audit", copied, "--json")
    assert found.code == 5
    assert any("foreign entry" in p for p in found.json["problems"])


def test_a_run_exchanged_for_another_shows_by_the_root_that_was_written_down(klab: Klab, copied: Path) -> None:
    wrong = klab("audit", copied, "--root", "0" * 64, "--json")
    assert wrong.code == 5
    assert any("cut, continued or exchanged" in p for p in wrong.json["problems"])


def test_a_run_cut_back_whole_shows_by_the_root_only(recorded: Recorded, copied: Path) -> None:
    """Both files cut to an earlier signed state: sound in itself, which is why the root is printed."""
    write(copied, lines(copied)[:-2])
    heads = (copied / HEADS).read_bytes().splitlines(keepends=True)
    (copied / HEADS).write_bytes(b"".join(heads[:-2]))
    assert audit(copied).problems == []
    assert not audit(copied).ended
    assert audit(copied, recorded.done.json["ledger_root"]).problems


def test_forty_random_changes_of_one_byte_are_all_found(recorded: Recorded, copied: Path) -> None:
    data = (recorded.folder / LEDGER).read_bytes()
    dice = random.Random(20260401)
    for _ in range(40):
        place, value = dice.randrange(len(data)), dice.randrange(1, 256)
        changed = bytearray(data)
        changed[place] ^= value
        (copied / LEDGER).write_bytes(bytes(changed))
        assert audit(copied).problems, f"byte {place} changed from {data[place]:#x} to {changed[place]:#x}"
    (copied / LEDGER).write_bytes(data)
    assert audit(copied).problems == []


def test_forty_random_changes_of_one_byte_in_the_heads_are_all_found(recorded: Recorded, copied: Path) -> None:
    data = (recorded.folder / HEADS).read_bytes()
    dice = random.Random(20260402)
    for _ in range(40):
        place, value = dice.randrange(len(data)), dice.randrange(1, 256)
        changed = bytearray(data)
        changed[place] ^= value
        (copied / HEADS).write_bytes(bytes(changed))
        assert audit(copied).problems or audit(copied).torn, (
            f"byte {place} changed from {data[place]:#x} to {changed[place]:#x}"
        )


@pytest.mark.sample(2)
@pytest.mark.parametrize("change", [cut_lines, edit_sample, swap_lines, remove_heads], ids=lambda f: f.__name__)
def test_a_changed_run_is_not_continued_and_not_touched(
    change: Callable[[Path], None], klab: Klab, copied: Path
) -> None:
    change(copied)
    before = {p.name: p.read_bytes() for p in copied.iterdir() if p.is_file() and p.name != "run.lock"}
    klab("resume", copied, "--json").failed(5, "is not sound", "klab audit")
    assert {p.name: p.read_bytes() for p in copied.iterdir() if p.is_file() and p.name != "run.lock"} == before


def test_another_task_file_in_the_folder_is_refused(klab: Klab, copied: Path) -> None:
    text = (copied / "task.py").read_text()
    (copied / "task.py").write_text(text.replace("2 * x ** 3", "2.5 * x ** 3"))
    klab("replay", copied, 0, "--json").failed(2, "not the one this run was made with")


def test_a_run_of_another_key_is_audited_but_not_continued(klab: Klab, copied: Path, tmp_path: Path) -> None:
    elsewhere = {"KLAB_HOME": str(tmp_path / "home")}
    assert klab("audit", copied, "--json", env=elsewhere).code == 0
    klab("resume", copied, "--json", env=elsewhere).failed(5, "was signed by key", "KLAB_HOME")
    shutil.rmtree(copied)
    klab("audit", copied, "--json").failed(2, "no run folder")
