"""The ceilings' own kernels go through the builder like any candidate; here they are built, on a GPU they are run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernellab.build import cuda, nvrtc_job
from kernellab.build.base import Built, Candidate
from kernellab.build.cache import CodeCache
from kernellab.build.cuda import CudaBuilder
from kernellab.core.records import Param
from kernellab.measurement.gpu_roofline import COPIES, OWN_KERNELS
from kernellab.measurement.roofline import ceiling_task, total, zeros
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.spec import Task

pytestmark = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
N = 1 << 16
FORMS = [("copy", choice) for choice in COPIES] + [("read", {}), ("peak", {})]


@pytest.fixture(scope="module")
def gpu_builder() -> Iterator[CudaBuilder]:
    with open_sandbox("auto", cuda.PRELOAD, cuda.header_folders()) as sandbox:
        yield CudaBuilder(sandbox, CodeCache(None), "sm_90a")


def task_of(kind: str) -> Task:
    if kind == "copy":
        return ceiling_task("copy", N, N, lambda x: x)
    return ceiling_task("read", N, 1, total) if kind == "read" else ceiling_task("peak", 64, 64, zeros)


@pytest.mark.parametrize(("kind", "choice"), FORMS)
def test_every_form_builds_covers_the_data_and_spills_nothing(
    kind: str, choice: dict[str, Param], gpu_builder: CudaBuilder
) -> None:
    task = task_of(kind)
    common: dict[str, Param] = {"KIND": kind, "BLOCKS": 1056, "ROUNDS": 2048, "UNROLL": 1, "CACHE": "normal"}
    built = gpu_builder.build(task, Candidate(OWN_KERNELS, "stream"), {**common, **choice}, [task.tune[0]])
    assert isinstance(built, Built), built.reason
    (step,) = built.plans[0].steps
    assert (step.block, built.artifact.resources["spill_bytes"]) == ([256], 0)
    assert step.grid is not None
    if kind == "copy":
        unroll = choice["UNROLL"]
        assert isinstance(unroll, int)
        assert step.grid[0] * 256 * unroll * 4 >= N


def test_the_forms_of_copying_are_different_ones() -> None:
    assert len({tuple(sorted(c.items())) for c in COPIES}) == len(COPIES) > 3
