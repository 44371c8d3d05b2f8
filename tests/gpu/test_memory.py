"""Nothing that a kernel can read survives from one sample to the next."""

from __future__ import annotations

import numpy as np
import pytest

from kernellab.core.records import Passed, Rejected
from kernellab.run import cuda_static
from kernellab.run.base import WorkerFault
from kernellab.run.cuda import CudaDevice
from kernellab.run.cuda_clock import Clock
from kernellab.run.cuda_kernels import Kernels
from kernellab.run.cuda_scrub import Scrub

from . import kernels
from .bed import Bed
from .conftest import Build, Judged, Opened

pytestmark = pytest.mark.gpu
COUNTERS = [kernels.COUNTS, kernels.COUNTS_HIDDEN, kernels.COUNTS_FROM_SEVEN]
N = 4096


def samples(bed: Bed, count: int, counted: bool) -> bool:
    """Whether so many samples are right, each on inputs of its own."""
    right = True
    for number in range(count):
        bed.put(np.arange(N, dtype=np.float32) + number)
        bed.run(counted=counted)
        right &= np.array_equal(bed.got(), 2 * (np.arange(N, dtype=np.float32) + number))
    return right


@pytest.mark.parametrize("source", COUNTERS, ids=["global", "static", "initialised"])
def test_a_kernel_that_counts_its_calls_is_rejected_by_the_judge(source: str, judged: Judged) -> None:
    found = judged(source)
    assert isinstance(found, Rejected)
    assert found.cause == "static-memory", found.reason
    assert found.reason.startswith("a call left its static memory changed: 1 bytes of '")
    assert "calls'" in found.reason


@pytest.mark.parametrize("source", COUNTERS, ids=["global", "static", "initialised"])
@pytest.mark.parametrize("counted", [False, True])
def test_it_is_told_after_the_second_sample(source: str, counted: bool, opened: Opened) -> None:
    """The first may fill what later ones use: it sets the image."""
    with opened(source) as bed:
        assert samples(bed, 1, counted)
        with pytest.raises(WorkerFault, match="a call left its static memory changed") as caught:
            samples(bed, 1, counted)
        assert caught.value.cause == "static-memory"


@pytest.mark.parametrize("counted", [False, True])
def test_a_counter_that_resets_itself_passes(counted: bool, opened: Opened, judged: Judged) -> None:
    with opened(kernels.RESETS) as bed:
        assert samples(bed, 20, counted)
    assert isinstance(judged(kernels.RESETS), Passed)


def test_a_table_that_is_filled_once_passes(opened: Opened, judged: Judged) -> None:
    with opened(kernels.FILLS_ONCE, kernels.FILLS_ONCE_LAUNCH) as bed:
        assert samples(bed, 5, counted=True)
    assert isinstance(judged(kernels.FILLS_ONCE, kernels.FILLS_ONCE_LAUNCH), Passed)


@pytest.mark.parametrize("source", [kernels.COUNTS, kernels.RESETS], ids=["counts", "resets"])
def test_the_driver_says_where_static_memory_lies(source: str, gpu: CudaDevice, gpu_build: Build) -> None:
    """Or else modules are loaded again for every sample, which is slower and finds no counter; here it should not be."""
    from kernellab.build.bundle import unpack
    from kernellab.run.driver import call

    cubins = unpack(gpu_build(source).codes[0]).modules
    modules = [call("cuModuleLoadData", cubin) for cubin in cubins]
    (found,) = cuda_static.static_memory(gpu.context, cubins, modules)
    assert found.spans is not None
    assert [(s.image.size, s.image.tolist()) for s in found.spans] == [(4, [0, 0, 0, 0])]
    for module in modules:
        call("cuModuleUnload", module)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(
    ("source", "launch"),
    [(kernels.REMEMBERS_IN_SHARED, kernels.REMEMBERS_IN_SHARED_LAUNCH),
     (kernels.REMEMBERS_BESIDE_SCRATCH, kernels.REMEMBERS_BESIDE_SCRATCH_LAUNCH)],
    ids=["shared memory", "beside scratch"],
)  # fmt: skip
def test_what_a_sample_left_elsewhere_is_gone_in_the_next(
    source: str, launch: str, counted: bool, opened: Opened
) -> None:
    with opened(source, launch) as bed:
        assert samples(bed, 30, counted)


def test_within_a_sample_shared_memory_does_keep_something(opened: Opened) -> None:
    """Or the test above would say nothing."""
    with opened(kernels.REMEMBERS_IN_SHARED, kernels.REMEMBERS_IN_SHARED_LAUNCH) as bed:
        bed.put(np.ones(N, np.float32))
        bed.run(*[0] * 50)
        assert (bed.got() == -1).any()


def test_a_kernel_with_local_memory_runs_as_before(opened: Opened) -> None:
    with opened(kernels.NO_STATIC_BUT_LOCAL) as bed:
        assert samples(bed, 5, counted=True)
        assert bed.runner is not None
        assert next(iter(bed.runner.resources.values()))["local_bytes"] > 0


@pytest.mark.parametrize("local", [False, True])
def test_scrubbing_the_processors_takes_the_device_little_time(local: bool, gpu: CudaDevice) -> None:
    own, facts = Kernels(gpu.own_kernels), gpu.properties
    scrub = Scrub(gpu.context, own, facts.processors, facts.shared_limit)
    clock = Clock(gpu.context, own, facts.l2_bytes)
    took = min(clock.time(lambda: scrub.run(local)) for _ in range(20))
    assert took < (200e-6 if local else 50e-6)
