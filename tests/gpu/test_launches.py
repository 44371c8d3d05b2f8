"""Every way to launch: several steps as a graph, scratch, cooperative and cluster launches, much shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from kernellab.core.records import Passed
from kernellab.run.cuda import CudaDevice

from . import kernels
from .bed import POISON
from .conftest import Judged, Opened

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(1)


@pytest.fixture
def needs_clusters(gpu: CudaDevice) -> None:
    if gpu.properties.capability < (9, 0):
        pytest.skip("clusters came with Hopper")


def doubles(opened: Opened, source: str, launch: str, n: int = 4096, counted: bool = False, times: int = 3) -> bool:
    """Whether a kernel is right on new inputs every time, its outputs poisoned before."""
    with opened(source, launch, shapes=({"N": n},)) as bed:
        right = []
        for _ in range(times):
            values = RNG.standard_normal(n, np.float32)
            bed.put(values)
            bed.outputs.fill(bed.calls[0].outputs[0], POISON)
            bed.outputs.read(bed.calls[0].outputs[0])  # waits until the poison is there
            bed.run(counted=counted)
            right.append(np.array_equal(bed.got(), 2 * values))
        return all(right)


@pytest.mark.parametrize("counted", [False, True])
def test_several_steps_are_replayed_in_order_as_one_graph(counted: bool, opened: Opened) -> None:
    assert doubles(opened, kernels.TWO_STEPS, kernels.TWO_STEPS_LAUNCH, counted=counted)


def test_a_plan_of_several_steps_passes_every_case(judged: Judged) -> None:
    assert isinstance(judged(kernels.TWO_STEPS, kernels.TWO_STEPS_LAUNCH), Passed)


@pytest.mark.parametrize("counted", [False, True])
def test_zeroed_scratch_is_zero_at_every_call(counted: bool, opened: Opened) -> None:
    source = kernels.ADDS_UP.replace("WANTED", "0u")
    assert doubles(opened, source, kernels.ADDS_UP_LAUNCH % ", zero=True", counted=counted)


def test_zeroed_scratch_is_zero_at_every_call_of_one_command_too(opened: Opened) -> None:
    source = kernels.ADDS_UP.replace("WANTED", "0u")
    with opened(source, kernels.ADDS_UP_LAUNCH % ", zero=True", shapes=({"N": 64}, {"N": 9})) as bed:
        for number, n in enumerate((64, 9)):
            bed.put(np.arange(n, dtype=np.float32), number)
        bed.run(0, 0, 1, 1, 0, counted=True)
        assert bed.got(0).tolist() == [2 * i for i in range(64)]
        assert bed.got(1).tolist() == [2 * i for i in range(9)]


def test_other_scratch_holds_nothing_of_an_earlier_call(opened: Opened) -> None:
    """All ones, which no kernel would take for an answer."""
    assert doubles(opened, kernels.ADDS_UP.replace("WANTED", "0xffffffffu"), kernels.ADDS_UP_LAUNCH % "")


@pytest.mark.parametrize("n", [4096, 4095, 1])
def test_blocks_of_a_cooperative_launch_may_wait_for_each_other(n: int, opened: Opened) -> None:
    assert doubles(opened, kernels.COOPERATIVE, kernels.COOPERATIVE_LAUNCH % 64, n)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_blocks_of_a_cluster_read_each_others_shared_memory(size: int, opened: Opened, needs_clusters: None) -> None:
    source = kernels.CLUSTER.replace("WANTED", str(size))
    assert doubles(opened, source, kernels.CLUSTER_LAUNCH % (size, size, size))


def test_a_block_may_have_more_than_48_kb_of_shared_memory(opened: Opened) -> None:
    assert doubles(opened, kernels.SHARED, kernels.SHARED_LAUNCH, 60_000)


def test_static_and_dynamic_shared_memory_may_pass_48_kb_together(opened: Opened) -> None:
    assert doubles(opened, kernels.SHARED_TOGETHER, kernels.SHARED_TOGETHER_LAUNCH)


def test_scalars_arrive_in_the_size_and_sign_of_their_parameters(opened: Opened) -> None:
    with opened(kernels.SCALARS, kernels.SCALARS_LAUNCH) as bed:
        bed.run()
        assert bed.got()[:6].tolist() == [4096, 1.5, 0.25, -2, -7, 255]
