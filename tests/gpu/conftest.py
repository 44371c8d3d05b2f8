"""For machines with a GPU: one device, one set of builders, and the smallest kernels. Elsewhere everything is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from kernellab.build.base import Builder, Built, Candidate, NotBuilt
from kernellab.build.cache import CodeCache
from kernellab.core.records import Passed, Rejected
from kernellab.core.settings import Settings
from kernellab.run import driver
from kernellab.run.cuda import CudaDevice
from kernellab.targets.base import platform
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Dims, Task
from kernellab.verdict.cases import CaseTable, all_shapes, full_cases
from kernellab.verdict.judge import Judge

from .bed import Bed
from .kernels import HONEST, LAUNCH

DIMS: Dims = {"N": 4096}
Build = Callable[..., Built]
Opened = Callable[..., AbstractContextManager[Bed]]
Judged = Callable[..., Passed | Rejected]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not driver.present():
        for item in items:
            if item.get_closest_marker("gpu") is not None:
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


@pytest.fixture(scope="session")
def gpu() -> Iterator[CudaDevice]:
    device = CudaDevice(CodeCache(None))
    yield device
    device.close()


@pytest.fixture(scope="session")
def gpu_builder(gpu: CudaDevice) -> Iterator[Builder]:
    with platform(gpu.kind).workbench(Settings(cache=False)) as bench:
        yield bench.builder


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.close()


@pytest.fixture(scope="session")
def gpu_build(gpu_builder: Builder, double_task: Task) -> Build:
    """Build CUDA C++ (or a whole Triton file) for the doubling task, and insist that it builds."""

    def built(
        source: str = HONEST, launch: str = LAUNCH, shapes: tuple[Dims, ...] = (DIMS,), task: Task = double_task,
        text: str = "",
    ) -> Built:  # fmt: skip
        candidate = Candidate(text or f"SOURCE = r'''{source}'''\n{launch}", "test")
        result = gpu_builder.build(task, candidate, {}, shapes)
        assert not isinstance(result, NotBuilt), f"{result.reason}\n{result.log}"
        return result

    return built


@pytest.fixture(scope="session")
def opened(gpu: CudaDevice, gpu_build: Build) -> Opened:
    """Buffers and a runner for one call of each shape."""

    @contextmanager
    def bed(*args: Any, shapes: tuple[Dims, ...] = (DIMS,), **kw: Any) -> Iterator[Bed]:
        made = Bed(gpu, gpu_build(*args, shapes=shapes, **kw), shapes)
        try:
            yield made
        finally:
            made.close()

    return bed


@pytest.fixture(scope="session")
def table(gpu: CudaDevice, double_task: Task, crew: Crew) -> Iterator[CaseTable]:
    with CaseTable(double_task, full_cases(double_task, DIMS), bytes(range(32)), gpu, crew) as made:
        yield made.ready()


@pytest.fixture(scope="session")
def judged(gpu: CudaDevice, gpu_build: Build, double_task: Task, table: CaseTable, crew: Crew) -> Judged:
    """The verdict on a kernel, over every case of the doubling task."""

    def verdict(*args: Any, **kw: Any) -> Passed | Rejected:
        built = gpu_build(*args, shapes=tuple(all_shapes(double_task, DIMS)), **kw)
        return Judge(gpu, crew.hands).verify(built, table, "full")

    return verdict
