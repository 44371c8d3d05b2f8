"""The collection of typed tables: planted faults are found, clean tables are not accused, and no planted one is consistent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernellab.report.foreign.finding import TableAudit
from kernellab.report.foreign.table import read_tables
from kernellab.report.foreign.verdict import audit_tables

COLLECTION = Path(__file__).parents[3] / "data" / "foreign" / "collection"


def sections(name: str) -> dict[str, str]:
    text = (COLLECTION / name).read_text()
    return {
        m[1].strip(): m[2].strip() + "\n" for m in re.finditer(r"^## (.*)\n((?:(?!^## ).*\n?)*)", text, re.MULTILINE)
    }


PLANTED, CLEAN = sections("planted.md"), sections("clean.md")


def audited(text: str, tmp_path: Path) -> TableAudit:
    (tmp_path / "table.md").write_text(text)
    return audit_tables(read_tables(tmp_path / "table.md"))


def test_the_collection_is_large_enough() -> None:
    assert len(PLANTED) >= 40
    assert len(CLEAN) >= 25


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_by_its_sort_and_never_called_consistent(name: str, tmp_path: Path) -> None:
    audit = audited(PLANTED[name], tmp_path)
    assert audit.status == "contradictions"
    assert name.partition(":")[0] in {c.sort for c in audit.found}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_table_is_not_accused(name: str, tmp_path: Path) -> None:
    assert audited(CLEAN[name], tmp_path).found == []
