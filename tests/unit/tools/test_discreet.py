"""What a caller may read is not made from held-out shapes; seeds and paths do not pass."""

from __future__ import annotations

import pytest

from kernellab.core.records import FailedTrial, Proposal
from kernellab.tools.discreet import entry_shown, reason_of

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


@pytest.mark.parametrize("reason", ["launch() fails at 5003", "ValueError: 20012"])
def test_an_entry_is_shown_without_seeds_logs_paths_and_numbers_of_launch(reason: str) -> None:
    body = {
        "status": "invalid", "reason": reason, "log": reason, "inputs_seed": "aa", "nonce": "bb",
        "where": "in /home/me/x/task.py", "rows": [{"inputs_seed": "cc", "n": 5}],
    }  # fmt: skip
    shown = entry_shown(body)
    assert shown == {"status": "invalid", "reason": shown["reason"], "where": "in task.py", "rows": [{"n": 5}]}
    assert not any(c.isdigit() for c in shown["reason"])
    assert "5003" not in str(entry_shown({"results": [{"status": "nothing-verified", "reason": f"t N=8: {reason}"}]}))
