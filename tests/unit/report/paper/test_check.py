"""Forgeries, each of one thing, are found; what is sound passes; and what cannot be compared is said."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.forgery import KINDS, change_digit, change_sample, load, move_point
from tests.support.long_ledger import copy_run

from kernellab.core.errors import UsageError
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.report.paper.check import Auditor
from kernellab.report.paper.html_page import dumped
from kernellab.report.paper.write import Written, write_paper

from .conftest import RUN


@pytest.fixture(scope="module")
def auditor() -> Auditor:
    return Auditor(RUN)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_paper_passes_with_every_number_traced(auditor: Auditor, written: Written, kind: str) -> None:
    report = auditor.audit(written.folder / f"paper.{kind}")
    assert report.problems == []
    assert report.numbers == report.traced > 300
    assert report.remade
    assert report.points > 50


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_digit_is_found(auditor: Auditor, written: Written, tmp_path: Path, kind: str, seed: int) -> None:
    forged = tmp_path / f"forged.{kind}"
    what = change_digit(written.folder, forged, kind, random.Random(seed))
    report = auditor.audit(forged)
    assert not report.ok, what
    if kind != "json":
        assert report.traced < report.numbers, what


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_moved_point_is_found(auditor: Auditor, written: Written, tmp_path: Path, kind: str, seed: int) -> None:
    forged = tmp_path / f"forged.{kind}"
    what = move_point(written.folder, forged, kind, random.Random(seed))
    assert not auditor.audit(forged).ok, what


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_sample_is_found(written: Written, tmp_path: Path, seed: int) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    what = change_sample(tmp_path / "run" / "ledger.jsonl", random.Random(seed))
    report = Auditor(tmp_path / "run").audit(written.folder / "paper.json")
    assert not report.ok, what


def _forge(written: Written, out: Path, **changes: Any) -> Path:
    forged = load(written.folder).model_copy(update=changes)
    out.write_bytes(dumped(forged))
    return out


def test_changed_words_are_found(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    blocks = [b.model_copy(update={"text": b.text.replace("faster", "far faster")}) for b in written.paper.blocks]
    report = auditor.audit(_forge(written, tmp_path / "f.json", blocks=blocks))
    assert any("words of" in p for p in report.problems)


def test_a_number_smuggled_into_the_words_is_found(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    blocks = [b.model_copy(update={"text": b.text + " 12"}) if b.kind == "heading" else b for b in written.paper.blocks]
    report = auditor.audit(_forge(written, tmp_path / "f.json", blocks=blocks))
    assert any("'12'" in p for p in report.problems)
    assert report.traced < report.numbers


def test_a_foreign_reference_is_found(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    first, *rest = written.paper.references
    forged = [first.model_copy(update={"text": "Our earlier work. 2031."}), *rest]
    report = auditor.audit(_forge(written, tmp_path / "f.json", references=forged))
    assert any("reference" in p for p in report.problems)


def test_a_paper_of_another_run_is_found(written: Written) -> None:
    report = Auditor(RUN.with_name("stencil3x3")).audit(written.folder / "paper.json")
    assert any("is of run" in p for p in report.problems)


def test_a_paper_stays_true_when_its_run_grows(tmp_path: Path) -> None:
    """Entries after the ones it was made from do not matter; before them they do."""
    run, key = tmp_path / "run", SigningKey.generate()
    copy_run(RUN, run, key, lambda e: True, ended=True)
    write_paper(run, tmp_path / "out")
    with Ledger.resume(run, key) as ledger:
        ledger.append("pruned", {"blobs": []})
    assert Auditor(run).audit(tmp_path / "out" / "paper.json").problems == []


def test_a_paper_that_names_another_size_is_found(written: Written, tmp_path: Path, auditor: Auditor) -> None:
    file = _forge(written, tmp_path / "f.json", entries=written.paper.entries - 1)
    assert any("made from root" in p for p in auditor.audit(file).problems)


def test_other_versions_are_named_and_the_rest_is_still_checked(
    auditor: Auditor, written: Written, tmp_path: Path
) -> None:
    maker = written.paper.made_by.model_copy(update={"typst": "0.0.1"})
    report = auditor.audit(_forge(written, tmp_path / "f.json", made_by=maker))
    assert report.ok
    assert not report.remade
    assert any("typst" in note for note in report.notes)


@pytest.mark.parametrize("data", [b"", b"{}", b"%PDF-1.7 no", b"<!doctype html><p>hi", b"[1, 2", b"\xff\xfe\x00"])
def test_what_is_no_paper_is_refused(auditor: Auditor, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "paper"
    file.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        auditor.audit(file)
    assert caught.value.fix


def test_a_claims_file_with_nonsense_in_it_is_no_crash(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    data = json.loads((written.folder / "paper.json").read_bytes())
    data["claims"][0]["args"] = {"path": [1, {"a": None}]}
    data["figures"][0]["args"] = {"shape": "zero"}
    data["blocks"][1]["text"] = "⟦c99999⟧"
    (tmp_path / "f.json").write_text(json.dumps(data))
    assert not auditor.audit(tmp_path / "f.json").ok
