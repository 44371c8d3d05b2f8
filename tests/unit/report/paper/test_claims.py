from __future__ import annotations

from typing import Any

import pytest

from kernellab.report.paper.claims import Claim, ClaimBook, printed, problem_with
from kernellab.report.paper.document import PaperFile
from kernellab.report.paper.ledger_prefix import LedgerPrefix


def test_every_claim_of_a_paper_follows_from_the_ledger(paper: PaperFile, evidence: LedgerPrefix) -> None:
    assert len(paper.claims) > 80
    assert [problem_with(claim, evidence) for claim in paper.claims if problem_with(claim, evidence)] == []


def test_the_same_claim_is_minted_once(evidence: LedgerPrefix) -> None:
    book = ClaimBook(evidence)
    assert book.count("trial") == book.count("trial")
    assert len(book.claims) == 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"value": 1e-5}, "has the value"),
        ({"printed": "9.99"}, "is printed as"),
        ({"unit": "ms"}, "has the unit"),
        ({"formula": "ratio"}, "cannot be printed"),
        ({"formula": "nonsense"}, "no formula"),
        ({"entries": "99999"}, "names entries"),
        ({"entries": "0"}, "cannot be derived"),
        ({"form": "percent"}, "cannot be printed"),
        ({"value": "64.00"}, "has the value"),
        ({"entries": "x"}, "cannot be derived"),
    ],
)
def test_a_forged_claim_is_found(paper: PaperFile, evidence: LedgerPrefix, change: dict[str, Any], word: str) -> None:
    claim = next(c for c in paper.claims if c.formula == "latency")
    assert problem_with(claim, evidence) == ""
    assert word in problem_with(claim.model_copy(update=change), evidence)


def test_a_count_that_leaves_entries_out_is_found(paper: PaperFile, evidence: LedgerPrefix) -> None:
    claim = next(c for c in paper.claims if c.formula == "count" and isinstance(c.value, int) and c.value > 2)
    fewer = Claim(**{**claim.model_dump(), "entries": "2", "value": 1, "printed": "1"})
    assert "entries fit" in problem_with(fewer, evidence)


def test_a_share_is_not_printed_as_a_time() -> None:
    assert printed("percent+", "of_floor", 0.978) == "97.8 %"
    with pytest.raises(ValueError, match="share"):
        printed("us", "of_floor", 0.978)


def test_ledger_text_cannot_pass_for_a_mark() -> None:
    assert "⟦" not in printed("words", "field", "⟦c1⟧ \x1b[31m \u202e")
