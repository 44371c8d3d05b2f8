from __future__ import annotations

import numpy as np
import pytest

from kernellab.core.errors import TaskRefused
from kernellab.graph.source import Request
from kernellab.run.base import WorkerFault
from kernellab.run.host import HostDevice, arguments_of
from kernellab.run.host_samples import NotLoaded
from kernellab.sandbox.host import Sandbox

from .host_bed import HEAD, HONEST, PROBLEM, HostBed

pytest.importorskip("torch")


def test_a_solution_computes_on_our_buffers_with_the_weights_we_give_it(torch_sandbox: Sandbox) -> None:
    with HostBed(torch_sandbox, HONEST) as bed:
        bed.run(0, 1, 2)
        assert [bed.y(n).tolist() for n in range(3)] == [[2.0] * 8, [4.0] * 8, [6.0] * 8]
        for call in bed.calls:
            bed.inputs.write(call.inputs[0], np.full(8, 5, np.float32))
        bed.run(2)
        assert bed.y(2).tolist() == [15.0] * 8


def test_its_level_of_trust_is_host(torch_sandbox: Sandbox) -> None:
    assert HostDevice(torch_sandbox, PROBLEM, "x.py", 1, [0]).trust == "host"


def test_every_command_has_a_process_of_its_own(torch_sandbox: Sandbox) -> None:
    counts = (
        HEAD + "    made = 0\n    def forward(self, x):\n        self.made += 1\n        return x * 0 + self.made\n"
    )
    with HostBed(torch_sandbox, counts) as bed:
        bed.run(0)
        bed.run(0)
        assert bed.y(0).tolist() == [1.0] * 8
        bed.run(0, 1)
        assert bed.y(1).tolist() == [2.0] * 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch\n", "has no 'ModelNew'"),
        ("def (:\n", "solution.py:1: SyntaxError"),
        ("import nothing_of_that_name\n", "ModuleNotFoundError"),
        (HEAD + "    def __init__(self):\n        raise ValueError('not today')\n", "ValueError: not today"),
        (HONEST.replace("self.w ", "self.v "), "no parameter or buffer 'w' (it has v)"),
        (HONEST.replace("zeros(8)", "zeros(4, 2)"), "'w' is float32[4, 2], the problem's is float32[8]"),
        ("class ModelNew:\n    pass\n", "is no torch.nn.Module"),
        ("raise SystemExit(0)\n", "SystemExit"),
    ],
)
def test_what_cannot_be_made_is_told_in_words(torch_sandbox: Sandbox, text: str, words: str) -> None:
    with pytest.raises(NotLoaded) as fault:
        HostBed(torch_sandbox, text)
    assert words in fault.value.reason


@pytest.mark.parametrize(
    ("body", "cause", "words"),
    [
        ("return x.mul_(self.w)", "crash", "read-only input"),
        ("raise SystemExit(3)", "crash", "exit code 3"),
        ("import os; os.fork()", "crash", "not permitted"),
        ("open('left', 'w')", "crash", "Error"),
        ("import socket; socket.socket()", "crash", "not permitted"),
        ("import os; os.write(3, b'12345678')", "crash", "Bad file descriptor"),
        ("import os; os.write(4, b'12345678')", "early-reply", "not the laboratory's token"),
        ("print('x' * 9_000_000)", "output-flood", "printed more"),
    ],
)
def test_what_breaks_off_is_told_in_words(torch_sandbox: Sandbox, body: str, cause: str, words: str) -> None:
    with HostBed(torch_sandbox, f"{HEAD}    def forward(self, x):\n        {body}\n        return x\n") as bed:
        with pytest.raises(WorkerFault) as fault:
            bed.run(0)
    assert fault.value.cause == cause
    assert words.lower() in fault.value.reason.lower()


def test_what_a_problem_gives_forward_is_seen_before_any_solution_runs(torch_sandbox: Sandbox) -> None:
    text = "import torch\nclass Model(torch.nn.Module):\n    pass\ndef get_inputs():\n    return [torch.ones(3), 2.5, None]\n"
    assert arguments_of(torch_sandbox, Request("/nowhere/p.py", text=text)) == (None, {"value": 2.5}, {"value": None})
    with pytest.raises(TaskRefused, match="get_inputs"):
        arguments_of(torch_sandbox, Request("/nowhere/p.py", text=text.replace("get_inputs", "got_inputs")))


_OVERWRITES = """
import os
for fd in range(3, 64):
    try:
        os.pwrite(fd, {!r}, 0)
    except OSError:
        pass
os._exit(0)
"""


@pytest.mark.parametrize("reply", ["[]", '{"arguments": [3]}', '{"arguments": [{"value": NaN}]}', "[" * 100_000])
def test_a_reply_that_names_no_arguments_is_refused(torch_sandbox: Sandbox, reply: str) -> None:
    text = _OVERWRITES.format(reply.encode())
    with pytest.raises(TaskRefused, match="inputs cannot be made"):
        arguments_of(torch_sandbox, Request("/nowhere/p.py", text=text))
