"""Forgeries, each of one thing, are found; what is sound passes; and what cannot be compared is said."""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.forgery import KINDS, change_digit, change_sample, drawings, load, move_point
from tests.support.long_ledger import copy_run

from kernellab.core.errors import UsageError
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.report.paper import charts
from kernellab.report.paper.check import Auditor
from kernellab.report.paper.document import Block
from kernellab.report.paper.html_page import dumped
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.report.paper.write import Written, make, printed, write_paper

from .conftest import RUN


@pytest.fixture(scope="module")
def auditor() -> Auditor:
    return Auditor(RUN)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_paper_passes_with_every_number_traced(auditor: Auditor, written: Written, kind: str) -> None:
    report = auditor.audit(written.folder / f"paper.{kind}")
    assert report.problems == []
    assert report.numbers == report.traced > 300
    assert report.remade
    assert report.points > 50


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_digit_is_found(auditor: Auditor, written: Written, tmp_path: Path, kind: str, seed: int) -> None:
    forged = tmp_path / f"forged.{kind}"
    what = change_digit(written.folder, forged, kind, random.Random(seed))
    report = auditor.audit(forged)
    assert not report.ok, what
    if kind != "json":
        assert report.traced < report.numbers, what


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_moved_point_is_found(auditor: Auditor, written: Written, tmp_path: Path, kind: str, seed: int) -> None:
    forged = tmp_path / f"forged.{kind}"
    what = move_point(written.folder, forged, kind, random.Random(seed))
    assert not auditor.audit(forged).ok, what


@pytest.mark.heavy
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


@pytest.mark.heavy
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
    assert report.status == report.data()["status"] == "partial"
    assert not report.remade
    assert any("typst" in what for what in report.unchecked)


def _reprinted(written: Written, out: Path, kind: str, **changes: Any) -> Path:
    """A forged paper printed as a forger would: by our own renderers, so that the file is what its claims say."""
    forged = load(written.folder).model_copy(update=changes)
    file = out / f"paper.{kind}"
    file.write_bytes(printed(forged, drawings(forged), kind))
    return file


def _excuse(written: Written, which: str) -> dict[str, Any]:
    """What a forger writes so that the words are not made again."""
    maker = written.paper.made_by.model_copy(update={"code": "0" * 64})
    return {"made_by": maker} if which == "code" else {"template": "0" * 64}


def _edited(blocks: list[Block], name: str, **changes: Any) -> list[Block]:
    assert any(b.id == name for b in blocks)
    return [b.model_copy(update=changes) if b.id == name else b for b in blocks]


@pytest.mark.sample(2)
@pytest.mark.parametrize("which", ["code", "template"])
@pytest.mark.parametrize("kind", ["json", "html", "pdf"])
def test_an_excuse_alone_is_no_pass(auditor: Auditor, written: Written, tmp_path: Path, kind: str, which: str) -> None:
    report = auditor.audit(_reprinted(written, tmp_path, kind, **_excuse(written, which)))
    assert (report.status, report.problems, report.remade) == ("partial", [], False)


@pytest.mark.parametrize("which", ["code", "template"])
def test_swapped_cells_are_found_behind_an_excuse(
    auditor: Auditor, written: Written, tmp_path: Path, which: str
) -> None:
    table = next(b for b in written.paper.blocks if b.name == "results")
    head, first, *rest = table.rows
    swapped = (head, (first[0], first[2], first[1], *first[3:]), *rest)
    blocks = _edited(written.paper.blocks, table.id, rows=swapped)
    report = auditor.audit(_reprinted(written, tmp_path, "html", blocks=blocks, **_excuse(written, which)))
    assert any("table 'results'" in p and "row 1, column 'latency" in p for p in report.problems)
    assert report.traced < report.numbers


@pytest.mark.parametrize("which", ["code", "template"])
def test_words_behind_an_excuse_are_named(auditor: Auditor, written: Written, tmp_path: Path, which: str) -> None:
    block = next(b for b in written.paper.blocks if b.kind == "paragraph" and "a win." in b.text)
    blocks = _edited(written.paper.blocks, block.id, text=block.text.replace("a win.", "a triumph."))
    report = auditor.audit(_reprinted(written, tmp_path, "json", blocks=blocks, **_excuse(written, which)))
    assert report.status == "partial"
    assert any(block.id in what for what in report.unchecked)
    assert report.traced < report.numbers


def test_what_is_left_out_or_moved_behind_an_excuse_is_named(
    auditor: Auditor, written: Written, tmp_path: Path
) -> None:
    blocks = [b for b in written.paper.blocks if b.name != "negative"]
    excuse = _excuse(written, "code")
    report = auditor.audit(_reprinted(written, tmp_path, "json", blocks=blocks, **excuse))
    assert report.status == "partial"
    assert any("lacks" in what and "negative-results" in what for what in report.unchecked)
    turned = [*written.paper.blocks[:2], *reversed(written.paper.blocks[2:5]), *written.paper.blocks[5:]]
    report = auditor.audit(_reprinted(written, tmp_path, "json", blocks=turned, **excuse))
    assert any("another order" in what for what in report.unchecked)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [("µs", "hours", "hours"), ("µs", "ns", "ns"), ("⟦", "one thousand times ⟦", "thousand"), ("%", "µs", "µs")],
)
def test_other_units_and_spelled_numbers_are_found_behind_an_excuse(
    auditor: Auditor, written: Written, tmp_path: Path, old: str, new: str, word: str
) -> None:
    block = next(b for b in written.paper.blocks if b.kind == "paragraph" and "a win." in b.text)
    blocks = _edited(written.paper.blocks, block.id, text=block.text.replace(old, new))
    report = auditor.audit(_reprinted(written, tmp_path, "json", blocks=blocks, **_excuse(written, "template")))
    assert report.status == "failed"
    assert any(word in p for p in report.problems)


@pytest.mark.parametrize("which", ["code", "template"])
@pytest.mark.parametrize(
    "change",
    [
        {"title": "a great deal faster than cuDNN"},
        {"transform": [{"calculate": "datum.best / 100", "as": "best"}]},
    ],
)
def test_another_drawing_rule_is_found_behind_an_excuse(
    auditor: Auditor, written: Written, tmp_path: Path, which: str, change: dict[str, Any]
) -> None:
    first, *rest = written.paper.figures
    spec = {**first.spec, **change}
    labels = charts.words_in(charts.draw(spec, first.rows))
    forged = [first.model_copy(update={"spec": spec, "labels": labels}), *rest]
    report = auditor.audit(_reprinted(written, tmp_path, "html", figures=forged, **_excuse(written, which)))
    assert any(f"figure {first.name}" in p for p in report.problems)
    assert report.traced < report.numbers


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</style>", 'span[data-claim="c10"]::after{content:"250.8"}</style>'),
        ("</body>", '<img alt="" src="data:image/png;base64,AAAA"></body>'),
        ("<main>", '<main style="direction:rtl">'),
        ("</svg>", '<image href="data:image/png;base64,AAAA"/></svg>'),
    ],
)
def test_a_dressed_up_page_is_found_behind_an_excuse(
    auditor: Auditor, written: Written, tmp_path: Path, old: str, new: str
) -> None:
    maker = written.paper.made_by.model_copy(update={"code": "0" * 64, "hand": "0", "vl_convert": "0"})
    file = _reprinted(written, tmp_path, "html", made_by=maker)
    assert auditor.audit(file).status == "partial"
    file.write_text(file.read_text().replace(old, new, 1))
    assert auditor.audit(file).status == "failed"


def test_blocks_that_cannot_be_printed_are_no_crash(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    block = next(b for b in written.paper.blocks if b.kind == "list")
    blocks = _edited(written.paper.blocks, block.id, rows=((),))
    page = (written.folder / "paper.html").read_text()
    forged = load(written.folder).model_copy(update={"blocks": blocks, **_excuse(written, "code")})
    claims = base64.b64encode(dumped(forged)).decode()
    (tmp_path / "paper.html").write_text(re.sub(r'(id="kernellab-paper">)[^<]*', rf"\g<1>{claims}", page))
    assert any("cannot be printed" in p for p in auditor.audit(tmp_path / "paper.html").problems)


@pytest.mark.parametrize("kind", ["json", "html", "md"])
def test_a_file_with_more_in_it_was_not_made_again(
    auditor: Auditor, written: Written, tmp_path: Path, kind: str
) -> None:
    shutil.copytree(written.folder, tmp_path / "out")
    file = tmp_path / "out" / f"paper.{kind}"
    size = file.stat().st_size
    file.write_bytes(file.read_bytes() + b"\n")
    report = auditor.audit(file)
    assert (report.status, report.remade) == ("failed", False)
    assert any(f"at byte {size}," in p for p in report.problems)


def test_markdown_is_checked_by_the_claims_beside_it(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    shutil.copytree(written.folder, tmp_path / "out")
    file = tmp_path / "out" / "paper.md"
    assert auditor.audit(file).status == "ok"
    file.write_text(file.read_text().replace("faster", "slower", 1))
    assert auditor.audit(file).status == "failed"
    (tmp_path / "out" / "paper.json").unlink()
    with pytest.raises(UsageError, match="carries no claims"):
        auditor.audit(file)
    with pytest.raises(UsageError, match="drawing"):
        auditor.audit(next((tmp_path / "out" / "figures").iterdir()))


def test_the_figures_that_markdown_shows_are_looked_at(auditor: Auditor, written: Written, tmp_path: Path) -> None:
    shutil.copytree(written.folder, tmp_path / "out")
    file = tmp_path / "out" / "paper.md"
    drawing = tmp_path / "out" / "figures" / "roofline.svg"
    sound = drawing.read_text()
    drawing.write_text(sound.replace("Gflop/s", "Tflop/s"))
    assert any("figures/roofline.svg beside it is not" in p for p in auditor.audit(file).problems)
    drawing.unlink()
    assert any("figures/roofline.svg beside it is missing" in p for p in auditor.audit(file).problems)
    drawing.write_text(sound)
    assert auditor.audit(file).status == "ok"
    claims = tmp_path / "out" / "paper.json"
    claims.write_text(claims.read_text() + "\n")
    assert any("paper.json beside it is not" in p for p in auditor.audit(file).problems)


@pytest.mark.heavy
def test_a_paper_of_the_beginning_of_a_run_says_that_the_ledger_goes_on(tmp_path: Path, written: Written) -> None:
    made = make(LedgerPrefix(RUN, written.paper.entries - 3), written.paper.fingerprint)
    file = tmp_path / "paper.json"
    file.write_bytes(printed(made.paper, {}, "json"))
    report = Auditor(RUN).audit(file)
    assert (report.status, report.problems) == ("partial", [])
    assert any("goes on after" in what and "1 end" in what for what in report.unchecked)


@pytest.mark.heavy
def test_a_root_that_was_written_down_is_compared(written: Written) -> None:
    assert Auditor(RUN, root="0" * 64).audit(written.folder / "paper.json").status == "failed"
    assert Auditor(RUN, root=written.paper.root).audit(written.folder / "paper.json").status == "ok"


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
