from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import LedgerFault
from kernellab.report.paper.ledger_prefix import LedgerPrefix, look, spans, unspan

from .conftest import RUN


@pytest.mark.parametrize("seqs", [[], [3], [1, 2, 3, 7], [0, 2, 4, 5, 6]])
def test_spans_name_the_same_entries_again(seqs: list[int]) -> None:
    assert unspan(spans(seqs)) == seqs


def test_spans_are_short() -> None:
    assert spans([1, 2, 3, 7]) == "1-3,7"


def test_a_span_of_a_forged_size_is_refused() -> None:
    with pytest.raises(ValueError, match="too many"):
        unspan("0-99999999999")


def test_a_prefix_has_the_root_it_had(evidence: LedgerPrefix) -> None:
    shorter = LedgerPrefix(RUN, evidence.size - 1)
    assert shorter.size == evidence.size - 1
    assert shorter.root != evidence.root


def test_every_trial_belongs_to_a_shape(evidence: LedgerPrefix) -> None:
    assert sum(len(s.trials) for s in evidence.shapes) == len(evidence.trials)
    assert evidence.ended


def test_look_ends_early_without_a_fault() -> None:
    assert look({"a": {"b": [1, {"c": 2}]}}, "a.b.1.c") == 2
    assert look({"a": 1}, "a.b.c") is None


def test_an_empty_ledger_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_text("")
    with pytest.raises(LedgerFault):
        LedgerPrefix(tmp_path)
