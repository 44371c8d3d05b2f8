"""Facts, kernels and tasks that the tests of prompts share."""

from __future__ import annotations

from typing import Any

from kernellab.propose.prompts import (
    Brief,
    Contrast,
    DeviceFacts,
    Experiment,
    Failure,
    Interval,
    KernelFacts,
    Mistake,
    TaskFacts,
    TestedHypothesis,
    VerifierFacts,
)
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.inputs import STANDARD
from kernellab.tasks.spec import Array, Buffer, Task

C = '''"""Twice. Refuted if not."""
SOURCE = r"""
void twice(const float *x, float *y, long n) {
    for (long i = 0; i < n; i++) y[i] = x[i] + x[i];
}
"""
SPACE = {"STEP": [1, 2]}


def launch(x, y, STEP=1):
    kernel("twice")(x, y, x.size)
'''
TRITON = '''"""Twice."""
import triton
import triton.language as tl


@triton.jit
def twice(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def launch(x, y):
    twice[(triton.cdiv(x.size, 16),)](x, y, x.size, B=16)
'''
CUDA = '''"""Twice."""
SOURCE = r"""
extern "C" __global__ void twice(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
"""


def launch(x, y):
    kernel("twice")[-(-x.size // 16), 16](x, y, x.size)
'''
SOURCES = {"c": C, "triton": TRITON, "cuda": CUDA}
DEVICES = {
    "c": DeviceFacts("a processor", "cpu", 2, 20.5, 25.5, 100.5, ("one thread",)),
    "triton": DeviceFacts("NVIDIA H200", "sm_90", 132, 4400.5, 4500.5, 60000.5),
    "cuda": DeviceFacts("NVIDIA H200", "sm_90", 132, 4400.5, 4500.5, 60000.5),
}


def kernel(source: str, number: int = 1, **fields: Any) -> KernelFacts:
    measured = {
        "speedup": Interval(1.1, 1.05, 1.15), "latency_us": 10.25, "of_floor": 0.905, "registers": 40, "spill_bytes": 0,
        "shared_bytes": 0, "why": "to see",
    }  # fmt: skip
    return KernelFacts(f"trial {number}", source, {"STEP": 1}, **{"status": "measured", **measured, **fields})


def brief(backend: Any, task: TaskFacts | None = None, **fields: Any) -> Brief:
    source = SOURCES[backend]
    base, other = kernel(source, 4), kernel(source.replace("Twice", "Two times"), 2, registers=56)
    task = task or TaskFacts.of(TASKS["softmax"], "cpu" if backend == "c" else "cuda")
    everything: dict[str, Any] = {
        "kernels": (kernel(source, 1), other, base), "base": base, "reference": other,
        "contrasts": (Contrast.of(base, other, Interval(1.2, 1.1, 1.4)),),
        "findings": (TestedHypothesis("loads bind", "held", Interval(1.1, 1.05, 1.15), (1, 4), "a device"),),
        "failures": (Failure("build", "does not compile", "line 4: first"), Failure("verify", "wrong-output", "y: off")),
        "verifier": VerifierFacts("soft_numerics", "will the numbers be right?", "mostly right"),
        "mistakes": (Mistake(task, source, {"STEP": 1}, "pass with confidence 0.9", True, "non-finite: y holds NaN"),),
        "experiment": Experiment("one pass is enough", "fuse the loops", 1.05, 1.25, "spills", "ratio below 1.01"),
    }  # fmt: skip
    return Brief(task, DEVICES[backend], backend, **{**everything, **fields})


def identity(x: Array) -> Array:
    return x * 2


def make_task(tune: int, held_out: int, edge: int = 1, **fields: Any) -> Task:
    """A task whose shapes are N by 4."""
    given: dict[str, Any] = {
        "name": "made", "about": "twice x", "inputs": (Buffer("x", ("N", 4)),), "outputs": (Buffer("y", ("N", 4)),),
        "reference": identity, "tune": ({"N": tune},), "held_out": ({"N": held_out},), "edge": ({"N": edge},),
        "distributions": STANDARD,
    }  # fmt: skip
    return Task(**{**given, **fields})
