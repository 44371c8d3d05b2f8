"""What a judgement looks like in words. Whole commands are in tests/e2e."""

from __future__ import annotations

import io

from rich.console import Console

from kernellab.cli.judge import show
from kernellab.core.records import Passed, Rejected
from kernellab.evaluate.judge_solution import Judgement, Status


def _shown(status: Status, reason: str, verdict: Passed | Rejected | None) -> list[str]:
    out = io.StringIO()
    show(Console(file=out, width=200), Judgement(status, "lin", reason, verdict, None, "T1", "00", "ab", 1.0))
    return out.getvalue().splitlines()


def test_a_pass_says_how_much_was_judged_and_that_it_is_no_claim() -> None:
    passed = Passed(level="full", cases=42, max_abs_err=0.0, max_ulp=3.4, budget_ulp=15.3, deterministic=True)
    lines = _shown("passed", "", passed)
    assert lines[0].split() == ["passed", "lin"]
    assert "42 cases, at worst 3.4 of 15.3 ULP" in lines[1]
    assert "nothing to certify" in lines[-1]


def test_a_rejection_names_the_case() -> None:
    lines = _shown("rejected", "all wrong", Rejected(cause="wrong-output", reason="all wrong", case="d0=2, own"))
    assert lines[0].endswith("lin: all wrong (d0=2, own)")


def test_what_cannot_be_made_is_told_in_its_own_words() -> None:
    assert _shown("invalid", "x.py has no 'ModelNew'", None)[0].endswith("lin: x.py has no 'ModelNew'")


def test_a_remark_stands_beside_a_pass() -> None:
    passed = Passed(level="full", cases=42, max_abs_err=0.0, max_ulp=3.4, budget_ulp=15.3, deterministic=True)
    out = io.StringIO()
    judgement = Judgement("passed", "lin", "", passed, None, "T1", "00", "ab", 1.0, remarks=("precision is unseen",))
    show(Console(file=out, width=200), judgement)
    assert "remark     precision is unseen" in out.getvalue()
