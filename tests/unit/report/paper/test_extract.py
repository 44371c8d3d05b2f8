"""What a reader sees of each file of a paper, and which files are none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.report.paper.extract import open_paper
from kernellab.report.paper.write import Written


@pytest.mark.parametrize("kind", ["json", "html", "md", "pdf"])
def test_every_file_of_a_paper_carries_its_claims(kind: str, written: Written) -> None:
    opened = open_paper(written.folder / f"paper.{kind}")
    assert (opened.kind, opened.odd) == (kind, ())
    assert opened.paper == written.paper
    assert (opened.visible is None) == (kind in ("json", "md"))


def test_a_page_shows_its_words_and_neither_styles_nor_claims(written: Written) -> None:
    opened = open_paper(written.folder / "paper.html")
    assert opened.visible is not None
    assert "Negative results" in opened.visible
    assert "Table 1." in opened.visible
    assert "font-family" not in opened.visible  # a rule of the style sheet
    assert not re.search(r"[A-Za-z0-9+/]{200}", opened.visible)  # no claims in base64
    assert len(opened.svgs) == len(written.paper.figures)


def test_markdown_leans_on_its_claims_and_figures(written: Written) -> None:
    beside = open_paper(written.folder / "paper.md").beside
    assert set(beside) == {"paper.json", *(f"figures/{f.name}.svg" for f in written.paper.figures)}
    assert None not in beside.values()


def test_a_picture_hidden_in_a_drawing_is_odd(written: Written, tmp_path: Path) -> None:
    text = (written.folder / "paper.html").read_text()
    (tmp_path / "paper.html").write_text(text.replace("</svg>", "<image href='x'/></svg>", 1))
    odd = open_paper(tmp_path / "paper.html").odd
    assert odd == ("a drawing holds <image>, which drawings of a paper do not have",)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.pdf", b"%PDF-1.7\nnothing", "is not a readable PDF"),
        ("a.html", b"<!doctype html><p>words</p>", "holds no claims: it is not a paper of KernelLab"),
        ("a.html", b'  <!DOCTYPE html><script id="claims">=</script>', "holds no claims"),
        ("a.md", b"# words", "carries no claims, and there is no paper.json beside it"),
        ("a.svg", b"<svg></svg>", "is a drawing of a paper and holds no claims"),
        ("a.json", b"{}", "is not a paper of KernelLab: "),
        ("a.json", b"words", "is not a paper of KernelLab: claims file: "),
    ],
)
def test_what_is_no_paper_is_refused_with_the_reason(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as refused:
        open_paper(tmp_path / name)
    assert words in refused.value.what
    assert "klab paper" in refused.value.fix


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        open_paper(tmp_path / "nothing.pdf")
