"""No reason that an audit can give without a test that provokes it and asserts its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE, TESTS = ROOT / "src" / "kernellab", ROOT / "tests"
REASONS = {
    "report/audit.py": ("unit/report/test_audit.py", "unit/search/test_verify.py"),
    "report/audit_files.py": ("unit/report/test_audit_files.py",),
    "report/audit_origin.py": ("unit/report/test_audit_origin.py",),
    "report/audit_outcomes.py": ("unit/report/test_audit.py",),
    "report/audit_places.py": ("unit/report/test_audit.py",),
    "report/audit_science.py": ("unit/report/test_audit_science.py",),
    "evaluate/one_artifact.py": ("unit/report/test_audit.py", "unit/search/test_verify.py"),
    "evaluate/one_timing.py": ("unit/report/test_audit.py",),
    "ledger/check.py": ("unit/ledger/test_check.py",),
    "ledger/anchors.py": ("unit/ledger/test_anchors.py",),
    "ledger/git_anchor.py": ("unit/ledger/test_git_anchor.py",),
}
"""Modules that find fault with a record, and the tests that make them."""


def reasons(path: Path) -> Iterator[str]:
    """The longest fixed piece of every sentence that is yielded or added to the problems; `text` is one put together before."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        told = []
        if isinstance(node, ast.Yield) and node.value is not None:
            told = [node.value]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("problems.append", "problems.add")):
            told = node.args[-1:]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("text", "what"):
            told = [node.value]
        for sentence in told:
            yield from filter(None, (fixed_piece(part) for part in alternatives(sentence)))


def alternatives(sentence: ast.AST) -> list[ast.AST]:
    if isinstance(sentence, ast.IfExp):
        return [*alternatives(sentence.body), *alternatives(sentence.orelse)]
    return [sentence]


def fixed_piece(sentence: ast.AST) -> str:
    pieces = [n.value for n in ast.walk(sentence) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    longest = max(pieces, key=len, default="").strip(" :;,.(")
    return longest if " " in longest else ""


def asserted(path: Path) -> str:
    """Every string of a test file."""
    tree = ast.parse(path.read_text())
    return "\n".join(n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))


@pytest.mark.parametrize("module", REASONS)
def test_every_reason_is_asserted_by_its_words(module: str) -> None:
    found = list(reasons(SOURCE / module))
    tested = "\n".join(asserted(TESTS / test) for test in REASONS[module])
    assert found
    assert [reason for reason in found if reason not in tested] == []
