"""Inclusion proofs: they hold without the ledger, and nothing in them can be changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.proof import InclusionProof, make_proof, proof_problems, read_proof

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def proof(run: Path) -> InclusionProof:
    return make_proof(run, [4])


def test_a_proof_holds_for_every_entry_of_a_ledger(run: Path) -> None:
    for seq in range(10):
        proof = make_proof(run, [seq])
        assert [proven.index for proven in proof.entries] == ([0] if seq == 0 else [0, seq])
        assert list(proof_problems(proof)) == []


def edited_entry(data: dict[str, Any]) -> None:
    data["entries"][1]["line"] = data["entries"][1]["line"].replace('"trial":3', '"trial":5')


def another_place(data: dict[str, Any]) -> None:
    data["entries"][1]["index"] = 5


def edited_path(data: dict[str, Any]) -> None:
    path = data["entries"][1]["path"]
    path[0] = path[0][::-1]


def shorter_path(data: dict[str, Any]) -> None:
    data["entries"][1]["path"].pop()


def no_hex(data: dict[str, Any]) -> None:
    data["entries"][1]["path"][0] = "zz"


def no_entry(data: dict[str, Any]) -> None:
    data["entries"][1]["line"] = "{}"


def spaced_entry(data: dict[str, Any]) -> None:
    data["entries"][1]["line"] = data["entries"][1]["line"].replace(":", ": ", 1)


def edited_head(data: dict[str, Any]) -> None:
    data["head"] = data["head"].replace('"size":10', '"size":11')


def edited_root(data: dict[str, Any]) -> None:
    head = json.loads(data["head"])
    data["head"] = data["head"].replace(head["root"], head["root"][::-1])


def no_head(data: dict[str, Any]) -> None:
    data["head"] = "signed, trust me"


def another_key(data: dict[str, Any]) -> None:
    data["public_key"] = SigningKey.generate().public.hex


def no_key(data: dict[str, Any]) -> None:
    data["public_key"] = "12"


def edited_genesis(data: dict[str, Any]) -> None:
    data["entries"][0]["line"] = data["entries"][0]["line"].replace('"purpose":"test"', '"purpose":"best"')


def no_genesis(data: dict[str, Any]) -> None:
    data["entries"].pop(0)


def of_the_future(data: dict[str, Any]) -> None:
    data["format"] = 2


CHANGES: dict[Change, str] = {
    edited_entry: "entry 4 does not lead to the signed root: the entry or its path was edited",
    another_place: "entry 5 is not one of run",
    edited_path: "entry 4 does not lead to the signed root",
    shorter_path: "entry 4 does not lead to the signed root",
    no_hex: "entry 4 was edited: non-hexadecimal",
    no_entry: "entry 4 was edited: not an object with the keys",
    spaced_entry: "entry 4 is not one of run",
    edited_head: "the head's signature does not fit: it was edited",
    edited_root: "the head's signature does not fit: it was edited",
    no_head: "its key or its head was edited: not JSON",
    another_key: "signed by another key than",
    no_key: "its key or its head was edited",
    edited_genesis: "the first entry is not the one that names run",
    no_genesis: "the first entry is not the one that names run",
    of_the_future: "it is of format 2, and this version checks 1",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_an_edited_proof_is_refused_in_words(change: Change, proof: InclusionProof) -> None:
    data = proof.model_dump(mode="json")
    before = json.dumps(data)
    change(data)
    assert json.dumps(data) != before
    problems = list(proof_problems(InclusionProof.model_validate(data)))
    assert any(CHANGES[change] in problem for problem in problems), problems


def test_a_head_signed_by_a_key_of_ones_own_does_not_fit_the_runs_name(proof: InclusionProof) -> None:
    """Whoever has a key can sign a head; the run's first entry names the key that it was begun under."""
    forger = SigningKey.generate()
    head = proof.promised().signed(forger)
    forged = proof.model_copy(update={"public_key": forger.public.hex, "head": head.line().decode()})
    (problem,) = proof_problems(forged)
    assert problem == f"the run was begun under another key than {forger.fingerprint}"


def test_a_head_whose_root_is_no_hash_is_refused_in_words(proof: InclusionProof, key: SigningKey) -> None:
    head = replace(proof.promised(), root="not a hash").signed(key)
    problems = list(proof_problems(proof.model_copy(update={"head": head.line().decode()})))
    assert [p for p in problems if p.startswith("its key or its head was edited")]


@pytest.mark.parametrize("text", ['"\\\\ud800"', "NaN"], ids=["no Unicode", "no number"])
def test_a_first_entry_that_cannot_be_hashed_is_refused_in_words(text: str, proof: InclusionProof) -> None:
    data = proof.model_dump(mode="json")
    data["entries"][0]["line"] = data["entries"][0]["line"].replace('"test"', text.replace("\\\\", "\\"))
    problems = list(proof_problems(InclusionProof.model_validate(data)))
    assert [p for p in problems if p.startswith("entry 0 is not one of run")], problems


def test_entries_stand_in_the_ledgers_order_each_once(run: Path) -> None:
    """Of two confirmations the last counts: whoever turns them round would tell another."""
    proof = make_proof(run, [4, 7])
    first, second, third = proof.entries
    for entries in ([first, third, second], [first, second, second, third]):
        (problem,) = proof_problems(proof.model_copy(update={"entries": entries}))
        assert "are not in the ledger's order, each once" in problem


def test_a_ledger_that_is_not_sound_proves_nothing(run: Path) -> None:
    ledger = run / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"trial":3', b'"trial":9'))
    with pytest.raises(LedgerFault, match="is not sound"):
        make_proof(run, [4])


def test_a_tail_that_nobody_signed_proves_nothing(run: Path) -> None:
    heads = (run / "heads.jsonl").read_bytes().splitlines(keepends=True)
    (run / "heads.jsonl").write_bytes(b"".join(heads[:-1]))
    with pytest.raises(LedgerFault, match="have no signed head"):
        make_proof(run, [4])


def test_a_proof_stays_good_when_the_run_goes_on(run: Path, proof: InclusionProof, key: SigningKey) -> None:
    with Ledger.resume(run, key) as ledger:
        ledger.append("note", {})
    assert list(proof_problems(proof)) == []
    assert make_proof(run, [4]).promised().size == proof.promised().size + 1


@pytest.mark.parametrize(
    ("text", "words"), [("nothing", "its text: Invalid JSON"), ('{"format": 1}', "public_key: Field required")]
)
def test_a_file_that_is_no_proof_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"is no proof: {words}"):
        read_proof(path)
    with pytest.raises(UsageError, match="No such file"):
        read_proof(tmp_path / "none.json")
