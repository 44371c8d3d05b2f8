from __future__ import annotations

import itertools

import pytest

from kernellab.core.errors import UsageError
from kernellab.report.paper.bibliography import resolve, shipped
from kernellab.report.paper.document import PaperFile, Table, cited, labels, parse, segments, strays


def _parse(text: str) -> list[str]:
    table = Table("a table", ("head",), (("cell",),))
    return [b.kind for b in parse(text, {"t": table}, {"s": "⟦c1⟧"}, {"f": "a figure"})]


def test_markup_becomes_blocks() -> None:
    text = "# Title\n> by\n\n## Part\ntext\nmore text\n@table t\n- this\n- that\n\n! note\n\n@figure f\n\n@code s\n\n@references"
    kinds = ["title", "byline", "heading", "paragraph", "table", "list", "note", "figure", "code", "references"]
    assert _parse(text) == kinds


def test_tables_and_figures_are_numbered_apart_in_their_order() -> None:
    table = Table("a table", ("head",), (("cell",),))
    text = "# Title\n\n@table t\n\n@figure f\n\nwords\n\n@table u\n\n## Part\n\n@figure g\n\n@table v"
    blocks = parse(text, dict.fromkeys("tuv", table), {}, dict.fromkeys("fg", "a figure"))
    assert list(labels(blocks).values()) == ["Table 1.", "Figure 1.", "Table 2.", "Figure 2.", "Table 3."]
    assert list(labels(blocks)) == [b.id for b in blocks if b.kind in ("table", "figure")]


@pytest.mark.parametrize("text", ["# Title\n\n3 shapes", "# Title\n\n- 95 %", "# Kernel 7", "# T\n\nsee `klab 7`",
                                  "# T\n\n½ the time", "# T\n\nforty-two times", "# T\n\n`tenfold`"])  # fmt: skip
def test_a_number_that_is_no_claim_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no claim"):
        _parse(text)


@pytest.mark.parametrize("text", ["# T\n\n@table nope", "# T\n\n@figure nope", "# T\n\n@code nope"])
def test_what_is_not_there_cannot_be_shown(text: str) -> None:
    with pytest.raises(UsageError, match="nope"):
        _parse(text)


def test_only_what_is_in_the_bibliography_can_be_cited() -> None:
    with pytest.raises(UsageError, match="bibliography"):
        resolve(["nobody"])


def test_all_that_is_cited_is_listed_and_nothing_else(paper: PaperFile) -> None:
    assert cited(paper.blocks) == [r.key for r in paper.references]
    assert all(shipped()[r.key] == r for r in paper.references)


def test_words_hold_no_digit(paper: PaperFile) -> None:
    assert strays(paper.blocks) == []
    assert not any(c.isdigit() for s in segments(paper) if s.source == "words" for c in s.text)


def test_no_section_is_empty(paper: PaperFile) -> None:
    kinds = [b.kind for b in paper.blocks]
    assert all(following != "heading" for kind, following in itertools.pairwise(kinds) if kind == "heading")
    assert kinds[-1] == "references"
