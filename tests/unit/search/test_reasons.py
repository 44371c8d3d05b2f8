"""Why a trial came to nothing, told without what is kept back."""

from __future__ import annotations

from tests.unit.learn.recorded import busy, duplicate, measured, rejected

from kernellab.core.records import FailedTrial, Proposal
from kernellab.search.reasons import reason_of

SOURCE = "SOURCE = r'''void k(void) { oops }'''\n\ndef launch(x, y):\n    pass\n"


def failed(reason: str, log: str = "", status: str = "invalid") -> FailedTrial:
    proposal = Proposal(source="0" * 64, name="k")
    return FailedTrial.model_validate({
        "trial": 0, "task": "t", "dims": {"N": 8}, "proposal": proposal, "tier": "T1", "seed": 0, "device": "d",
        "environment": "e", "status": status, "reason": reason, "log": log,
    })  # fmt: skip


def test_launch_is_quoted_only_where_it_names_no_number() -> None:
    assert reason_of(failed("a step of nothing"), SOURCE) == "invalid: a step of nothing"
    told = reason_of(failed("5003 is odd"), SOURCE)
    assert "5003" not in told
    assert "compile()" in told


def test_a_compilers_words_are_passed_on() -> None:
    log = "SOURCE:1:18: error: unknown name oops"
    assert "oops" in reason_of(failed("does not compile: SOURCE:1:18", log, "build-failed"), SOURCE)


def test_every_outcome_has_its_words() -> None:
    assert reason_of(measured(), SOURCE) == ""
    assert reason_of(busy(), SOURCE) == "busy: others use it"
    assert reason_of(rejected(), SOURCE).startswith("wrong-output: ")
    assert reason_of(duplicate(), SOURCE) == f"the same machine code as trial {duplicate().of}"
