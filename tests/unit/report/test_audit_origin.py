"""Whose signature, whose code, and who saw the root: what a ledger signed anew cannot bring along."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.authority import OPENSSL, Authority
from tests.support.recorded import GENESIS

from kernellab.core.errors import UsageError
from kernellab.core.own_code import own_code
from kernellab.ledger.anchors import add_anchor, default_file
from kernellab.ledger.check import check
from kernellab.ledger.git_anchor import commit_anchor
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.timestamp import request
from kernellab.ledger.trusted import PinnedKey
from kernellab.report.audit_origin import Origin, Witnesses, look_at

KEY = SigningKey.generate()
BODY = {**GENESIS, "environment": {"code": own_code(), "packages": {"kernellab": "0.1.0"}}}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make(tmp_path / "runs" / "run", KEY)


def make(folder: Path, key: SigningKey, entries: int = 4, body: dict[str, object] | None = None) -> Path:
    with Ledger.create(folder, BODY if body is None else body, key) as ledger:
        for number in range(entries):
            ledger.append("note", {"number": number})
    return folder


def go_on(run: Path) -> None:
    with Ledger.resume(run, KEY) as ledger:
        ledger.append("note", {"number": "later"})


def seen(run: Path, **witnesses: object) -> Origin:
    return look_at(run, check(run), Witnesses(**witnesses))  # type: ignore[arg-type]


def rewrite(run: Path) -> None:
    """Another history from the same first entry, under the same key: the owner of a run can write that."""
    size = check(run).size
    for name in ("ledger.jsonl", "heads.jsonl"):
        (run / name).write_bytes((run / name).read_bytes().splitlines(keepends=True)[0])
    with Ledger.resume(run, KEY) as ledger:
        for number in range(size - 1):
            ledger.append("note", {"number": number, "forged": True})


def test_a_run_of_this_code_says_so_and_one_of_other_code_is_remarked(run: Path, tmp_path: Path) -> None:
    mine = seen(run)
    assert (mine.code, mine.made_by) == (own_code(), f"kernellab 0.1.0, code {own_code()[:16]}")
    assert not any("code" in r for r in mine.remarks)
    other = {**GENESIS, "environment": {"code": "ab" * 32, "packages": {"kernellab": "0.0.9"}}}
    theirs = seen(make(tmp_path / "other", KEY, body=other))
    assert theirs.made_by == f"kernellab 0.0.9, code {'ab' * 8}"
    words = f"made by other code (digest {'ab' * 8}) than the one that audits it ({own_code()[:16]})"
    assert (words in theirs.remarks, theirs.problems) == (True, [])
    older = seen(make(tmp_path / "older", KEY, body={**GENESIS, "environment": {}}))
    assert any(r.startswith("made by code that is not named") for r in older.remarks)


def test_code_that_went_on_with_a_run_is_named_too(tmp_path: Path) -> None:
    run = make(tmp_path / "run", KEY)
    with Ledger.resume(run, KEY) as ledger:
        ledger.append("resume", {"environment": {"code": "cd" * 32, "packages": {"kernellab": "0.2.0"}}})
    found = seen(run)
    assert found.made_by.endswith(f", then kernellab 0.2.0, code {'cd' * 8}")
    assert [r for r in found.remarks if "other code" in r]


def test_a_pinned_key_tells_a_ledger_signed_anew(run: Path, tmp_path: Path) -> None:
    pinned = (PinnedKey(KEY.public.hex, "lab one"),)
    assert seen(run, keys=pinned).problems == []
    forger = SigningKey.generate()
    forged = make(tmp_path / "forged", forger, entries=3)
    assert seen(forged).problems == []
    (problem,) = seen(forged, keys=pinned).problems
    assert f"signed by key {forger.fingerprint}, not by the pinned key {KEY.fingerprint} (lab one)" in problem


def test_an_anchor_holds_for_the_entries_it_speaks_of_when_the_run_goes_on(run: Path) -> None:
    file = default_file(run)
    anchor, _ = add_anchor(file, check(run))
    assert [a.words for a in seen(run).anchors] == [f"anchored in {file} at {anchor.time}, 5 entries of now 5"]
    go_on(run)
    add_anchor(file, check(run))
    found = seen(run)
    assert [(a.kind, a.size, a.entries) for a in found.anchors] == [("file", 5, 6), ("file", 6, 6)]
    assert found.problems == []
    assert not any("self-signed" in r for r in found.remarks)


def test_another_history_under_the_same_key_is_told_by_its_anchor(run: Path) -> None:
    anchor, _ = add_anchor(default_file(run), check(run))
    rewrite(run)
    assert check(run).problems == ()
    (problem,) = seen(run).problems
    assert problem.startswith("its first 5 entries hash to ")
    assert f"was {anchor.root}: they were changed" in problem


def test_a_ledger_cut_back_to_an_earlier_head_is_told_by_its_anchor(run: Path) -> None:
    add_anchor(default_file(run), check(run))
    for name in ("ledger.jsonl", "heads.jsonl"):
        (run / name).write_bytes(b"".join((run / name).read_bytes().splitlines(keepends=True)[:3]))
    assert check(run).problems == ()
    (problem,) = seen(run).problems
    assert problem.endswith("with 5 entries, 3 are there: the ledger was cut back")


def test_a_place_named_for_its_anchor_must_hold_one(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "anchors.txt"
    add_anchor(file, check(run))
    assert [a.size for a in seen(run, anchors=(file,)).anchors] == [5]
    forged = make(tmp_path / "forged", SigningKey.generate())
    (problem,) = seen(forged, anchors=(file,)).problems
    assert problem == f"{file} holds no anchor of run {check(forged).run}: another run, or signed anew"
    add_anchor(default_file(forged), check(run))
    found = seen(forged)
    assert (found.problems, any("holds no anchor of this run" in r for r in found.remarks)) == ([], True)
    with pytest.raises(UsageError, match="there are no anchors at"):
        seen(run, anchors=(tmp_path / "nowhere",))


def test_a_broken_chain_of_anchors_is_no_witness(run: Path) -> None:
    file = default_file(run)
    add_anchor(file, check(run))
    go_on(run)
    add_anchor(file, check(run))
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[1])
    assert any("does not follow from the line before it" in p for p in seen(run).problems)


@pytest.mark.skipif(shutil.which("git") is None, reason="git keeps the anchors")
def test_an_anchor_in_a_repository_is_found_with_its_commit(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    place = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", place], check=True)
    for name, value in (("user.name", "A Tester"), ("user.email", "tester@example.org")):
        subprocess.run(["git", "-C", place, "config", name, value], check=True)
    _, commit = commit_anchor(place, check(run))
    go_on(run)
    (found,) = seen(run, anchors=(place,)).anchors
    words = f"anchored in {place} commit {commit.id[:12]} at {commit.date}, 5 entries of now 6"
    assert (found.kind, found.by, found.words) == ("git", commit.id, words)
    rewrite(run)
    assert any("they were changed" in p for p in seen(run, anchors=(place,)).problems)


@pytest.mark.skipif(OPENSSL is None, reason="openssl plays the authority")
def test_a_time_stamp_in_the_folder_is_checked_again(run: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "tsa", "ec")
    (tmp_path / "q").write_bytes(request(check(run).root))
    reply = authority.answer(tmp_path / "q", run / "root.tsr")
    go_on(run)
    (found,) = seen(run).anchors
    assert (found.kind, found.size, found.entries, found.by) == ("rfc3161", 5, 6, "CN=Test Time Stamps")
    assert found.words.startswith(f"anchored in {reply} at {found.time}, 5 entries of now 6, by CN=Test Time Stamps (")
    assert "no CA was asked: --tsa-ca CA.pem, or openssl ts -verify -digest " in found.words
    (vouched,) = seen(run, tsa_ca=authority.ca).anchors
    assert "vouched for by the given CA" in vouched.words
    assert json.loads(json.dumps(vouched.data()))["kind"] == "rfc3161"
    rewrite(run)
    (problem,) = seen(run).problems
    assert "is of another root: no first entries of this ledger have the imprint" in problem
    *whole, last = reply.read_bytes()
    reply.write_bytes(bytes([*whole, last ^ 1]))
    (problem,) = seen(run).problems
    assert "the authority's signature does not fit: it was edited" in problem
