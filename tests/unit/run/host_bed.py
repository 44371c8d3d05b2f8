"""Solutions on buffers of the test's own: y[N] and w[N] from x[N] and a weight 'w', without a problem's file."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kernellab.build.base import Built, Part
from kernellab.build.parts import Made, assemble
from kernellab.build.plan import Plan, Step
from kernellab.graph.record import TensorType
from kernellab.graph.source import Request
from kernellab.run.arena import Arena
from kernellab.run.base import Call
from kernellab.run.host import HostDevice, Problem
from kernellab.run.host_samples import HostSamples
from kernellab.sandbox.host import Sandbox

HEAD = """
import torch

class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(8))

class ModelNew(Base):
"""
HONEST = HEAD + "    def forward(self, x):\n        return x * self.w\n"
ROW = TensorType(dtype="float32", extents=(8,))
PROBLEM = Problem(Request(""), (None,), ("w", ""), (ROW, ROW), (ROW,))


def built_of(text: str) -> Built:
    part = Part({"N": 8}, text.encode(), Plan(steps=[Step(kernel="ModelNew", args=[])]))
    built = assemble([Made(part, [], 0, False, {})], time.perf_counter(), "host", "none")
    assert isinstance(built, Built)
    return built


class HostBed:
    """Buffers for some calls, and the solution's runner. x is the call's number plus one, w is two."""

    def __init__(self, sandbox: Sandbox, text: str, calls: int = 3, problem: Problem = PROBLEM) -> None:
        self.inputs, self.outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
        self.calls = [
            Call({"N": 8}, (self.inputs.declare((8,), "float32"), self.inputs.declare((8,), "float32")),
                 (self.outputs.declare((8,), "float32"),))
            for _ in range(calls)
        ]  # fmt: skip
        self.inputs.open()
        self.outputs.open()
        for number, call in enumerate(self.calls):
            self.inputs.write(call.inputs[0], np.full(8, 2, np.float32))
            self.inputs.write(call.inputs[1], np.full(8, number + 1, np.float32))
        device = HostDevice(sandbox, problem, "/nowhere/solution.py", 1, [0])
        self.runner: HostSamples | None = None
        try:
            self.runner = device.start(built_of(text), self.inputs, self.outputs, self.calls)
        except BaseException:
            self.close()
            raise

    def y(self, number: int = 0) -> Any:
        return self.outputs.array(self.calls[number].outputs[0])

    def run(self, *numbers: int, **how: Any) -> None:
        assert self.runner is not None
        self.runner.run(numbers, 30.0, **how)

    def close(self) -> None:
        if self.runner is not None:
            self.runner.close()
        self.inputs.close()
        self.outputs.close()

    def __enter__(self) -> HostBed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
