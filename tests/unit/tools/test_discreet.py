"""What a caller may read is not made from held-out shapes; seeds and paths do not pass."""

from __future__ import annotations

import pytest

from kernellab.tools.discreet import entry_shown


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
