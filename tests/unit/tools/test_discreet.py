"""Held-out shapes, seeds and paths do not pass; a shape that the caller named itself does."""

from __future__ import annotations

from kernellab.propose.prompts import shown
from kernellab.tasks.spec import Task
from kernellab.tools.discreet import entry_shown, secret_of


def test_what_is_held_out_does_not_pass_unless_the_caller_named_it(double_task: Task) -> None:
    assert "5003" not in shown("wrong at 5003, 20012 bytes", secret_of(double_task))
    assert shown("N=5003 took 20012 bytes", secret_of(double_task, [{"N": 5003}])) == "N=5003 took 20012 bytes"


def test_an_entry_is_shown_without_seeds_shapes_and_paths(double_task: Task) -> None:
    body = {
        "inputs_seed": "aa",
        "reason": "at N=5003 in /home/me/x/task.py",
        "rows": [{"inputs_seed": "bb", "n": 5}],
        "nonce": "cc",
    }
    assert entry_shown(body, secret_of(double_task)) == {"reason": "at N=[withheld] in task.py", "rows": [{"n": 5}]}
