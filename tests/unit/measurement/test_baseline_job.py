"""The job is driven here over real pipes in the tests' own process: set-up in, outputs in shared memory."""

from __future__ import annotations

import json
import os
import struct
import sys

import numpy as np
import pytest

from kernellab.measurement import baseline_job
from kernellab.run.arena import Arena


@pytest.fixture
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_torch_gets_the_same_memory_its_threads_and_no_gradients() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    try:
        wrap = baseline_job._torch(1)
        assert (torch.get_num_threads(), torch.is_grad_enabled()) == (1, False)
        for dtype in ("float32", "bfloat16"):
            array = np.zeros(4, dtype)
            tensor = wrap(array)
            tensor.fill_(2)
            assert str(tensor.dtype) == f"torch.{dtype}"
            assert array.tolist() == [2.0] * 4
    finally:
        torch.set_num_threads(before)
        torch.set_grad_enabled(True)


@pytest.mark.usefixtures("_own_path")
def test_the_job_warms_up_reports_and_then_answers_commands() -> None:
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    x, y = inputs.declare((4, 8), "float32"), outputs.declare((4, 8), "float32")
    inputs.open()
    outputs.open()
    inputs.array(x)[...] = np.arange(32).reshape(4, 8)
    call = [["in", x.data, [4, 8], "float32"], ["out", y.data, [4, 8], "float32"]]
    setup = os.memfd_create("setup")
    os.write(
        setup, json.dumps({"task": "softmax", "baseline": "numpy", "threads": 1, "calls": [call], "path": []}).encode()
    )
    command_read, command_write = os.pipe()
    reply_read, reply_write = os.pipe()
    try:
        os.write(command_write, b"a token!" + struct.pack("<I", 0))
        os.close(command_write)
        assert baseline_job.main([setup, command_read, reply_write, inputs.fd, outputs.fd]) == 0
        assert os.read(reply_read, 64) == b"loaded!!a token!"
        assert outputs.array(y).sum(axis=1) == pytest.approx([1] * 4)
        assert outputs.array(y)[0, 7] == outputs.array(y).max()
    finally:
        for fd in (setup, command_read, reply_read, reply_write):
            os.close(fd)
        inputs.close()
        outputs.close()
