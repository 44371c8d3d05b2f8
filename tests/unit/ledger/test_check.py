"""Every way of tampering with a finished run is found, and named for what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.ids import canonical_json
from kernellab.ledger.check import check
from kernellab.ledger.entry import Head
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.merkle import leaf_hash, root_of


def rewrite(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))


def edited(line: bytes, **changes: object) -> bytes:
    return canonical_json({**json.loads(line), **changes}) + b"\n"


def assert_found(folder: Path, *words: str) -> str:
    """One problem holds all the words."""
    told = check(folder).problems
    matching = [problem for problem in told if all(word in problem for word in words)]
    assert matching, told
    return matching[0]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.lock"}


def assert_resume_refuses(folder: Path, key: SigningKey) -> None:
    before = contents(folder)
    with pytest.raises(LedgerFault) as fault:
        Ledger.resume(folder, key)
    assert "nothing was changed" in fault.value.fix
    assert contents(folder) == before


def test_a_sound_run_has_no_problems_and_says_who_it_is(run: Path, key: SigningKey) -> None:
    report = check(run)
    lines = (run / "ledger.jsonl").read_bytes()[:-1].split(b"\n")
    assert report.problems == ()
    assert (report.size, report.heads, report.torn, report.ended) == (10, 10, False, False)
    assert report.root == root_of(leaf_hash(line) for line in lines).hex()
    assert report.run == json.loads(lines[0])["run"]
    assert report.fingerprint == key.fingerprint
    assert report.public_key == key.public.hex


def test_a_run_that_came_to_its_end_says_so(run: Path, key: SigningKey) -> None:
    with Ledger.resume(run, key) as ledger:
        ledger.append("end", {})
    assert check(run).ended


@pytest.mark.parametrize("seq", [1, 4, 9])
def test_an_edited_line_is_located_between_two_heads(run: Path, key: SigningKey, seq: int) -> None:
    def change(lines: list[bytes]) -> list[bytes]:
        lines[seq] = edited(lines[seq], body={"trial": seq - 1, "status": "measured"})
        return lines

    rewrite(run / "ledger.jsonl", change)
    later = f", nor do {9 - seq} later heads" if seq < 9 else ""
    changed = (
        f"entries {seq}..{seq} were changed after they were signed: the head of size {seq + 1} does not fit{later}"
    )
    assert check(run).problems == (changed,)
    assert_resume_refuses(run, key)


def test_an_edit_inside_a_batch_is_located_to_the_batch(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path / "run", {}, key) as ledger, ledger.batch():
        for number in range(5):
            ledger.append("trial", {"trial": number})
    rewrite(tmp_path / "run" / "ledger.jsonl", lambda x: [*x[:3], edited(x[3], body={}), *x[4:]])
    assert_found(tmp_path / "run", "entries 1..5 were changed")


def test_an_edited_genesis_no_longer_names_the_run(run: Path, key: SigningKey) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [x[0].replace(b'"test"', b'"best"'), *x[1:]])
    assert_found(run, "entry 0 does not start a run: its body does not hash to the run id ")
    assert_resume_refuses(run, key)


def test_a_genesis_under_another_key_disowns_every_head(run: Path, key: SigningKey) -> None:
    ours, theirs = key.public.hex.encode(), SigningKey.generate().public.hex.encode()
    rewrite(run / "ledger.jsonl", lambda x: [x[0].replace(ours, theirs), *x[1:]])
    assert_found(run, "bad signature")
    assert_resume_refuses(run, key)


def test_swapped_lines_are_re_ordered_not_deleted(run: Path, key: SigningKey) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x[:3], x[4], x[3], *x[5:]])
    assert_found(run, "line 5", "entry 3", "re-ordered")
    assert not any("deleted" in problem for problem in check(run).problems)
    assert_resume_refuses(run, key)


def test_an_entry_of_another_run_is_foreign(run: Path, tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path / "other", {}, key) as other:
        for number in range(9):
            other.append("trial", {"trial": number})
    foreign = (tmp_path / "other" / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    rewrite(run / "ledger.jsonl", lambda x: [*x[:6], foreign[6], *x[7:]])
    assert_found(run, f"ledger.jsonl line 7 is a foreign entry: of run {other.run_id}, not {check(run).run}")
    assert_resume_refuses(run, key)


def test_a_deleted_line_is_missing(run: Path, key: SigningKey) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x[:4], *x[6:]])
    assert_found(run, "entries 4..5 are missing: lines were deleted")
    assert_resume_refuses(run, key)


def test_a_ledger_without_its_genesis_starts_no_run(run: Path, key: SigningKey) -> None:
    rewrite(run / "ledger.jsonl", lambda x: x[1:])
    assert_found(run, "entry 0 does not start a run")
    assert_found(run, "entries 0..0", "deleted")
    assert_resume_refuses(run, key)


@pytest.mark.parametrize("kept", [9, 1])
def test_a_truncated_ledger_is_shorter_than_its_heads(run: Path, key: SigningKey, kept: int) -> None:
    rewrite(run / "ledger.jsonl", lambda x: x[:kept])
    assert_found(run, f"the ledger was truncated: a signed head counts 10 entries, {kept} are there")
    assert_resume_refuses(run, key)


def test_a_signed_last_line_cut_in_the_middle_is_truncation_not_a_torn_tail(run: Path, key: SigningKey) -> None:
    path = run / "ledger.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert_found(run, "truncated")
    assert_resume_refuses(run, key)


def test_an_emptied_ledger_is_named(run: Path, key: SigningKey) -> None:
    (run / "ledger.jsonl").write_bytes(b"")
    assert_found(run, "ledger.jsonl is empty: not even the run's first entry is there")
    assert_resume_refuses(run, key)


@pytest.mark.parametrize("at", [5, 10])
def test_a_duplicated_line_is_named(run: Path, key: SigningKey, at: int) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x[:at], x[at - 1], *x[at:]])
    assert_found(run, f"line {at + 1}", f"entry {at - 1}", "duplicated")
    assert_resume_refuses(run, key)


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b"{}\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_a_line_that_is_no_entry_is_named(run: Path, key: SigningKey, line: bytes) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x[:4], line, *x[5:]])
    assert_found(run, "line 5 is not an entry")
    assert_resume_refuses(run, key)


def test_a_line_that_says_the_same_in_other_bytes_is_not_canonical(run: Path, key: SigningKey) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x[:4], json.dumps(json.loads(x[4])).encode() + b"\n", *x[5:]])
    assert_found(run, "ledger.jsonl line 5 is not canonical JSON")
    assert_resume_refuses(run, key)


def test_a_number_that_is_no_number_is_not_canonical(run: Path, key: SigningKey) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x[:9], x[9].replace(b'"trial":8', b'"trial":NaN')])
    assert_found(run, "line 10 is not canonical")
    assert_resume_refuses(run, key)


def test_a_head_with_a_changed_root_has_a_bad_signature(run: Path, key: SigningKey) -> None:
    rewrite(run / "heads.jsonl", lambda x: [*x[:4], edited(x[4], root="0" * 64), *x[5:]])
    assert_found(
        run, f"heads.jsonl line 5 (size 5) has a bad signature: edited, or signed by another key than {key.fingerprint}"
    )
    assert_resume_refuses(run, key)


@pytest.mark.parametrize("signature", ["", "zz", "00" * 64])
def test_a_head_with_a_made_up_signature_is_named(run: Path, key: SigningKey, signature: str) -> None:
    rewrite(run / "heads.jsonl", lambda x: [*x[:9], edited(x[9], sig=signature)])
    assert_found(run, "heads.jsonl line 10", "bad signature")
    assert_resume_refuses(run, key)


def test_a_rewritten_ledger_cannot_be_signed_by_another_key(run: Path, key: SigningKey) -> None:
    """The full forgery: entries edited, and fitting heads for all of them made with the forger's own key."""
    forger = SigningKey.generate()
    rewrite(run / "ledger.jsonl", lambda x: [*x[:9], edited(x[9], body={"status": "measured"})])
    leaves = [leaf_hash(line) for line in (run / "ledger.jsonl").read_bytes()[:-1].split(b"\n")]

    def forge(lines: list[bytes]) -> list[bytes]:
        heads = [Head(**{**json.loads(line), "sig": ""}) for line in lines]
        roots = [root_of(leaves[: head.size]).hex() for head in heads]
        forged = [Head(head.size, root, head.run, head.time) for head, root in zip(heads, roots, strict=True)]
        return [head.signed(forger).line() + b"\n" for head in forged]

    rewrite(run / "heads.jsonl", forge)
    assert_found(run, "signed by another key", key.fingerprint)
    assert any("and 5 more problems" in problem for problem in check(run).problems)
    assert_resume_refuses(run, key)


def test_a_head_of_another_run_by_the_same_key_is_foreign(run: Path, tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path / "other", {}, key) as other:
        pass
    foreign = (tmp_path / "other" / "heads.jsonl").read_bytes()
    rewrite(run / "heads.jsonl", lambda x: [*x, foreign])
    assert_found(run, f"heads.jsonl line 11 is a head of run {other.run_id}, not {check(run).run}")
    assert_resume_refuses(run, key)


@pytest.mark.parametrize("at", [3, 9])
def test_heads_that_shrink_or_repeat_are_named(run: Path, key: SigningKey, at: int) -> None:
    rewrite(run / "heads.jsonl", lambda x: [*x, x[at]])
    what = "repeats" if at == 9 else "shrinks: it follows"
    assert check(run).problems == (f"a head of size {at + 1} {what} size 10",)
    assert_resume_refuses(run, key)


def test_heads_out_of_order_shrink_even_past_the_end_of_the_ledger(run: Path, key: SigningKey) -> None:
    rewrite(run / "heads.jsonl", lambda x: [x[0], x[9], *x[1:9]])
    rewrite(run / "ledger.jsonl", lambda x: x[:9])
    assert_found(run, "head of size 2", "shrinks")
    assert_found(run, "truncated")
    assert_resume_refuses(run, key)


def test_a_garbled_head_in_the_middle_is_named(run: Path, key: SigningKey) -> None:
    rewrite(run / "heads.jsonl", lambda x: [*x[:4], b"{}\n", *x[5:]])
    assert_found(run, "heads.jsonl line 5 is not a head")
    assert_resume_refuses(run, key)


def test_missing_heads_for_the_last_entries_are_named(run: Path) -> None:
    rewrite(run / "heads.jsonl", lambda x: x[:7])
    assert check(run).problems == ("entries 7..9 have no signed head (a killed writer; klab resume adopts them)",)


def test_a_run_stripped_of_all_heads_is_not_adopted(run: Path, key: SigningKey) -> None:
    (run / "heads.jsonl").unlink()
    assert_found(run, "entries 0..9 have no signed head")
    assert_found(run, "heads.jsonl has no good head at all, which no killed writer leaves behind")
    assert_resume_refuses(run, key)


def test_a_thousand_foreign_lines_do_not_make_a_thousand_problems(run: Path) -> None:
    rewrite(run / "ledger.jsonl", lambda x: [*x, *([b"{}\n"] * 1000)])
    report = check(run)
    assert len(report.problems) < 10
    assert any("and 995 more" in problem for problem in report.problems)


def test_a_folder_without_a_ledger_is_a_fault_with_a_fix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no ledger") as fault:
        check(tmp_path)
    assert fault.value.fix


def test_checking_a_live_ledger_finds_nothing_wrong(tmp_path: Path, key: SigningKey) -> None:
    with Ledger.create(tmp_path / "run", {}, key) as ledger:
        for number in range(50):
            ledger.append("trial", {"trial": number})
            assert check(tmp_path / "run").problems == ()
