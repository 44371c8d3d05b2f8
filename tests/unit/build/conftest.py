"""For the tests of the Triton back end: one sandbox with Triton in it, the smallest kernel, and what a build is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kernellab.build import triton as backend
from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.cache import CodeCache
from kernellab.build.triton import TritonBuilder
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.spec import Dims, Task

SHAPES: list[Dims] = [{"N": 4096}, {"N": 1025}]
HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = """@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, 2 * v, mask=at < n)

"""
LAUNCH = "def launch(x, y, num_warps=4, num_stages=3):\n    double[(triton.cdiv(x.size, 256),)](x, y, x.size, BLOCK=256, num_warps=num_warps, num_stages=num_stages)\n"


@pytest.fixture(scope="package")
def gpu_sandbox() -> Iterator[Sandbox]:
    with open_sandbox("auto", backend.PRELOAD) as opened:
        yield opened


@pytest.fixture(scope="package")
def triton_builder(gpu_sandbox: Sandbox) -> TritonBuilder:
    return TritonBuilder(gpu_sandbox, CodeCache(None), "sm_90a")


@pytest.fixture(scope="package")
def attempt(triton_builder: TritonBuilder, double_task: Task) -> Any:
    def tried(
        kernel: str = KERNEL, launch: str = LAUNCH, params: dict[str, Param] | None = None, shapes: Any = SHAPES
    ) -> Any:
        return triton_builder.build(double_task, Candidate(HEAD + kernel + launch, "test"), params or {}, shapes)

    return tried


def done(result: Built | NotBuilt) -> Built:
    assert isinstance(result, Built), f"{result.reason}\n{result.log}"
    return result


def failed(result: Built | NotBuilt, status: str = "build-failed") -> NotBuilt:
    assert isinstance(result, NotBuilt), "it was built"
    assert result.status == status, result.reason
    return result
