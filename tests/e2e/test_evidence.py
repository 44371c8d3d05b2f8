"""Whose word a record is: pinned keys, anchors, the code that made it, and files that say what the ledger does not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.authority import OPENSSL, Authority
from tests.support.resign import leave_out_rejected, resigned

from kernellab.core.own_code import own_code
from kernellab.ledger.check import check

from .command import Klab
from .conftest import Recorded, bodies

pytestmark = pytest.mark.backend_c
RUNS = Path(__file__).parents[2] / "runs"


@pytest.fixture
def forged(copied: Path, tmp_path: Path) -> Path:
    """The recorded run without its rejected trial, signed by somebody else."""
    folder = resigned(copied, tmp_path / "forged" / "copy", leave_out_rejected)
    shutil.copy(copied / "task.py", folder / "task.py")
    assert not any(t["status"] == "rejected" for t in bodies(folder, "trial"))
    return folder


def test_ones_own_run_is_signed_by_ones_own_key_and_names_its_code(klab: Klab, copied: Path) -> None:
    done = klab("audit", copied)
    key = check(copied).fingerprint
    assert f"signed by your own key {key}" in done.out
    assert f"made by kernellab 0.1.0, code {own_code()[:16]}" in done.out
    data = klab("audit", copied, "--json").json
    assert (data["signed_by"], data["pinned"], data["anchors"], data["remarks"]) == ("your own key", False, [], [])
    assert (data["code"], data["fingerprint"]) == (own_code(), key)
    assert f"made by kernellab 0.1.0, code {own_code()[:16]}" in klab("show", copied).out
    assert klab("show", copied, "--json").json["code"] == own_code()


def test_a_ledger_signed_anew_without_its_rejected_trials_is_told_by_the_pinned_key(
    klab: Klab, copied: Path, forged: Path, tmp_path: Path
) -> None:
    ours, theirs = check(copied), check(forged)
    alone = klab("audit", forged, "--json")
    assert (alone.code, alone.json["status"], alone.json["signed_by"]) == (0, "ok", "self-signed")
    assert f"self-signed: key {theirs.fingerprint} is pinned nowhere (--key pins it)" in alone.json["remarks"]
    assert f"self-signed by key {theirs.fingerprint}" in klab("audit", forged).out
    (tmp_path / "lab").write_text(f"{ours.public_key} our laboratory\n")
    for key in (ours.fingerprint, ours.public_key, tmp_path / "lab"):
        assert klab("audit", copied, "--key", key, "--json").json["pinned"] is True
        caught = klab("audit", forged, "--key", key, "--json")
        assert (caught.code, caught.json["status"], caught.json["pinned"]) == (5, "failed", False)
        (problem,) = caught.json["problems"]
        assert problem.startswith(f"signed by key {theirs.fingerprint}, not by the pinned key {ours.fingerprint}")
    assert (
        f"signed by our laboratory (pinned), key {ours.fingerprint}"
        in klab("audit", copied, "--key", tmp_path / "lab").out
    )
    assert "AUDIT FAILED" in klab("audit", forged, "--key", ours.fingerprint).out
    either = klab("audit", forged, "--key", ours.fingerprint, "--key", theirs.fingerprint, "--json")
    assert (either.code, either.json["pinned"]) == (0, True)
    klab("audit", copied, "--key", "nonsense", "--json").failed(2, "neither a key nor a file")


def test_trusted_keys_are_read_from_the_users_own_file(klab: Klab, copied: Path, forged: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    elsewhere = {"KLAB_HOME": str(home)}
    (home / "trusted-keys").write_text(f"# laboratories\n{check(copied).fingerprint}  the laboratory\n")
    assert "signed by the laboratory (pinned)" in klab("audit", copied, env=elsewhere).out
    done = klab("audit", forged, "--json", env=elsewhere)
    assert (done.code, done.json["signed_by"]) == (0, "self-signed")
    words = f"self-signed: key {check(forged).fingerprint} is not in {home / 'trusted-keys'}"
    assert words in done.json["remarks"]
    (home / "trusted-keys").write_text("nonsense\n")
    klab("audit", copied, "--json", env=elsewhere).failed(2, "line 1 names no key")
    assert [p.name for p in home.iterdir()] == ["trusted-keys"]


@pytest.mark.heavy
def test_an_anchored_root_is_found_and_a_ledger_signed_anew_has_none(klab: Klab, copied: Path, forged: Path) -> None:
    done = klab("anchor", copied, "--json")
    found, file = check(copied), copied.parent / "anchors.jsonl"
    assert (done.code, done.json["status"], done.json["file"]) == (0, "anchored", str(file))
    assert (done.json["size"], done.json["ledger_root"]) == (found.size, found.root)
    before = file.read_bytes()
    assert "anchored before: run" in klab("anchor", copied).out
    assert file.read_bytes() == before
    told = klab("audit", copied)
    assert re.search(rf"anchored in {file} at \S+, {found.size} entries of now {found.size}\n", told.out)
    (anchor,) = klab("audit", copied, "--anchor", file, "--json").json["anchors"]
    assert (anchor["kind"], anchor["size"], anchor["root"]) == ("file", found.size, found.root)
    caught = klab("audit", forged, "--anchor", file, "--json")
    assert caught.code == 5
    assert caught.json["problems"] == [
        f"{file} holds no anchor of run {check(forged).run}: another run, or signed anew"
    ]


@pytest.mark.heavy
def test_an_anchor_holds_for_a_run_that_goes_on_and_not_for_one_that_is_cut(klab: Klab, copied: Path) -> None:
    size = check(copied).size
    klab("anchor", copied)
    assert klab("resume", copied, "--more", 1, "--json").code in (0, 3, 7)
    (anchor,) = klab("audit", copied, "--json").json["anchors"]
    assert (anchor["size"], anchor["entries"]) == (size, check(copied).size)
    for name in ("ledger.jsonl", "heads.jsonl"):
        (copied / name).write_bytes(b"".join((copied / name).read_bytes().splitlines(keepends=True)[: size - 1]))
    caught = klab("audit", copied)
    assert caught.code == 5
    assert f"with {size} entries, {size - 1} are there: the ledger was cut back" in caught.out


@pytest.mark.skipif(shutil.which("git") is None, reason="git keeps the anchors")
def test_an_anchor_as_a_commit(klab: Klab, copied: Path, tmp_path: Path) -> None:
    place, nobody = tmp_path / "repository", {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "init", "--quiet", place], check=True)
    who = {f"GIT_{role}_{part}": "tester" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    done = klab("anchor", copied, "--git", place, "--json", env={**nobody, **who})
    assert done.code == 0, done.err
    told = klab("audit", copied, "--anchor", place, env=nobody)
    assert re.search(rf"anchored in {place} commit {done.json['commit'][:12]} at \S+, \d+ entries of now \d+", told.out)
    klab("anchor", copied, "--git", tmp_path / "home", "--json").failed(2, "there is no folder")
    klab("anchor", copied, "--git", place, "--to", tmp_path / "x", "--json").failed(2, "cannot be combined")


@pytest.mark.heavy
@pytest.mark.skipif(OPENSSL is None, reason="openssl plays the authority")
def test_an_anchor_as_a_time_stamp(klab: Klab, copied: Path, forged: Path, tmp_path: Path) -> None:
    authority, query = Authority(tmp_path / "tsa"), tmp_path / "root.tsq"
    asked = klab("anchor", copied, "--rfc3161-query", query, "--json")
    assert (asked.code, asked.json["status"]) == (0, "asked")
    reply = authority.answer(query, tmp_path / "reply.tsr")
    assert authority.verifies(reply, asked.json["imprint"])
    klab("anchor", forged, "--rfc3161-reply", reply, "--json").failed(5, "it is of another root")
    assert not (forged / "root.tsr").exists()
    bad = tmp_path / "bad.tsr"
    *whole, last = reply.read_bytes()
    bad.write_bytes(bytes([*whole, last ^ 1]))  # another byte than it was: a signature may well end in any given one
    klab("anchor", copied, "--rfc3161-reply", bad, "--json").failed(5, "signature does not fit: it was edited")
    kept = klab("anchor", copied, "--rfc3161-reply", reply, "--json")
    assert (kept.code, kept.json["authority"], kept.json["file"]) == (
        0,
        "CN=Test Time Stamps",
        str(copied / "root.tsr"),
    )
    told = klab("audit", copied)
    assert re.search(r"root\.tsr at \S+, \d+ entries of now \d+, by CN=Test Time Stamps \(certificate", told.out)
    assert "vouched for by the given CA" in klab("audit", copied, "--tsa-ca", authority.ca).out
    shutil.copy(copied / "root.tsr", forged / "root.tsr")
    caught = klab("audit", forged, "--json")
    assert (caught.code, "is of another root" in caught.json["problems"][0]) == (5, True)


def test_an_unsound_or_unfinished_ledger_is_not_anchored(klab: Klab, copied: Path) -> None:
    data = (copied / "ledger.jsonl").read_bytes()
    (copied / "ledger.jsonl").write_bytes(data.replace(b'"status":"rejected"', b'"status":"measured"', 1))
    klab("anchor", copied, "--json").failed(5, "is not sound", "klab audit")
    assert not (copied.parent / "anchors.jsonl").exists()


def test_pins_and_anchors_are_for_runs(klab: Klab, copied: Path) -> None:
    paper = RUNS.parent / "docs" / "paper-softmax-h200" / "paper.json"
    run = RUNS / "h200" / "softmax-bf16"
    klab("audit", paper, "--run", run, "--key", "0" * 16, "--json").failed(2, "for the audit of a run")


@pytest.mark.heavy
def test_a_failed_audit_of_a_paper_calls_no_number_traced(klab: Klab, tmp_path: Path) -> None:
    """The paper is the published one: what is wrong is the ledger, so every number still leads to a claim."""
    run = Path(shutil.copytree(RUNS / "h200" / "softmax-bf16", tmp_path / "run"))
    blob = next(p for p in (run / "artifacts").rglob("*") if p.is_file())
    blob.write_bytes(blob.read_bytes() + b"\n")
    paper = RUNS.parent / "docs" / "paper-softmax-h200" / "paper.json"
    told = klab("audit", paper, "--run", run)
    assert told.code == 5
    assert "AUDIT FAILED" in told.out
    assert "traced" not in told.out
    assert re.search(r"failed with \d+ problems: of \d+ numbers in the text \d+ lead to no claim, and none is vouched for",
                     told.out)  # fmt: skip
    data = klab("audit", paper, "--run", run, "--json").json
    assert (data["status"], data["traced"], data["untraced"]) == ("failed", None, 0)


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()
    }


def test_resuming_a_finished_run_changes_nothing_and_says_so(klab: Klab, recorded: Recorded, copied: Path) -> None:
    before, names = tree(copied), sorted(p.name for p in copied.iterdir())
    for _ in range(2):
        again = klab("resume", copied, "--json")
        assert again.code == recorded.done.code
        assert again.json == {**recorded.done.json, "run": str(copied), "already_finished": True}
        told = klab("resume", copied)
        assert told.code == recorded.done.code
        assert f"{copied} is finished: nothing to resume, and nothing was changed" in told.out
        assert tree(copied) == before
        assert sorted(p.name for p in copied.iterdir()) == names


def test_a_speed_up_is_shown_with_the_pairs_that_were_dropped(klab: Klab, copied: Path) -> None:
    (confirmation,) = [c for c in bodies(copied, "confirmation") if c["timing"]][:1]
    kept, dropped = len(confirmation["timing"]["candidate_s"]), len(confirmation["timing"]["dropped"])
    words = f"{kept} pairs, {dropped} of {kept + dropped} tries dropped"
    assert words in klab("show", copied).out
    assert words in klab("show", copied, "--trial", confirmation["trial"]).out
    shown = klab("show", copied, "--json").json["confirmations"]
    assert {"trial": confirmation["trial"], "pairs": kept, "dropped": dropped} in shown
