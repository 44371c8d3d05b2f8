"""Buffers, runners and verdicts on a real GPU."""

from __future__ import annotations

import os

import numpy as np
import pytest

from kernellab.core.records import Passed, Rejected
from kernellab.run.cuda import CudaDevice
from kernellab.run.device_arena import free_bytes
from kernellab.tasks.spec import DTYPES, shape_key
from kernellab.verdict.cases import CaseTable

from . import kernels
from .bed import pid
from .conftest import Judged, Opened

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(0)


def test_the_device_says_what_it_is(gpu: CudaDevice) -> None:
    assert gpu.properties.processors > 0
    assert gpu.target.startswith("sm_")
    assert gpu.target in gpu.name
    assert (gpu.kind, gpu.trust, gpu.thrifty) == ("cuda", "device-only", True)
    assert 0 < gpu.vram_bytes <= gpu.properties.memory_bytes


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_keeps_what_is_written_and_is_filled_with_bits(dtype: str, gpu: CudaDevice) -> None:
    arena = gpu.memory("test", bytes(range(16)))
    regions = [arena.declare(shape, dtype) for shape in ((1,), (3, 5), (1000, 7))]
    arena.open()
    try:
        for region in regions:
            values = np.frombuffer(os.urandom(region.nbytes), dtype).reshape(region.shape)
            arena.write(region, values)
            assert arena.read(region).tobytes() == values.tobytes()
        width = np.dtype(dtype).itemsize
        pattern = 0xFEDCBA9876543210 % (1 << (8 * width))
        for region in regions:
            arena.fill(region, pattern)
        assert all((arena.read(r).view(f"u{width}") == pattern).all() for r in regions)
        assert [arena.intact(r) for r in regions] == [""] * 3
    finally:
        arena.close()


def test_a_byte_outside_a_buffer_is_found_on_its_side_and_mended_by_filling(gpu: CudaDevice) -> None:
    arena = gpu.memory("test", bytes([7] * 16))
    regions = [arena.declare((n,), "float32") for n in (5, 64, 1001)]
    arena.open()
    try:
        for region in regions:
            for place, side in ((region.data - 1, "before"), (region.start, "before"),
                                (region.data + region.nbytes, "behind"),
                                (region.start + region.length - 1, "behind")):  # fmt: skip
                gpu.context.fill(arena.address + place, 8, 1, 1)
                assert arena.intact(region) == side
                assert [arena.intact(r) for r in regions if r is not region] == ["", ""]
                arena.fill(region, 0)
                assert arena.intact(region) == ""
    finally:
        arena.close()


def test_calls_read_their_inputs_and_fill_their_own_outputs(opened: Opened) -> None:
    with opened(kernels.HONEST, shapes=({"N": 4096}, {"N": 3})) as bed:
        for _ in range(2):
            first, second = (RNG.standard_normal(n, np.float32) for n in (4096, 3))
            bed.put(first, 0)
            bed.put(second, 1)
            bed.run(1)
            assert np.array_equal(bed.got(1), 2 * second)
            bed.run(0, 1)
            assert np.array_equal(bed.got(0), 2 * first)


def test_a_timed_call_has_seconds_of_the_device_and_its_cost_to_the_host(opened: Opened, gpu: CudaDevice) -> None:
    with opened() as bed:
        bed.put(np.ones(4096, np.float32))
        before = gpu.gpu_s
        sample = bed.run(0, 0, 0, counted=True)
        assert 0 < sample.seconds < 0.01
        assert bed.runner is not None
        assert len(bed.runner.outside_s) == 1
        assert bed.runner.outside_s[0] < 1
        assert gpu.gpu_s - before == pytest.approx(sample.seconds)
        assert next(iter(bed.runner.resources.values()))["registers"] > 0


def test_two_artifacts_may_be_loaded_at_once(opened: Opened) -> None:
    with opened(kernels.HONEST) as one, opened(kernels.WRONG) as other:
        values = RNG.standard_normal(4096, np.float32)
        for bed in (one, other):
            bed.put(values)
            bed.run()
        assert np.array_equal(one.got(), 2 * values)
        assert other.got()[5] == np.float32(1e9)


def test_a_fresh_runner_is_another_process(gpu: CudaDevice, opened: Opened) -> None:
    before = pid(gpu)
    gpu.fresh()
    assert pid(gpu) != before
    with opened() as bed:
        bed.put(np.ones(4096, np.float32))
        bed.run()
        assert (bed.got() == 2).all()


def test_memory_goes_back_when_buffers_are_closed_though_a_runner_had_them(opened: Opened) -> None:
    large = {"N": 64 << 20}
    with opened() as bed:
        bed.run()
    before = free_bytes()
    for _ in range(3):
        with opened(shapes=(large,)) as bed:
            bed.run()
    assert before - free_bytes() < 64 << 20


def test_a_right_kernel_passes_every_case(judged: Judged, table: CaseTable) -> None:
    found = judged()
    assert isinstance(found, Passed)
    assert (found.level, found.cases, found.deterministic) == ("full", len(table.cases), True)
    assert (found.max_abs_err, found.max_ulp, found.budget_ulp) == (0.0, 0.0, 5.0)
    assert set(found.judged) == {shape_key(case.dims) for case in table.cases}


@pytest.mark.parametrize(
    ("source", "cause", "words"),
    [
        (kernels.WRONG, "wrong-output", "1 of 7 elements wrong"),
        (kernels.SKIPS_LAST, "unwritten", "1 of 1025 elements were never written"),
        (kernels.NOT_FINITE, "non-finite", "first at [3]"),
        (kernels.BEFORE, "out-of-bounds", "wrote before the buffer of 'y'"),
        (kernels.BEHIND, "out-of-bounds", "wrote behind the buffer of 'y'"),
        (kernels.WRONG_LATER, "static-memory", "a call left its static memory changed: 1 bytes of 'calls'"),
    ],
    ids=["wrong", "unwritten", "not finite", "before", "behind", "wrong later"],
)
def test_a_wrong_kernel_is_rejected_with_its_cause(source: str, cause: str, words: str, judged: Judged) -> None:
    found = judged(source)
    assert isinstance(found, Rejected)
    assert (found.cause, words in found.reason) == (cause, True), found.reason


def test_an_output_left_alone_by_what_static_memory_remembers_is_found(judged: Judged) -> None:
    found = judged(kernels.LEAVES_ALONE, kernels.LEAVES_ALONE_LAUNCH)
    assert isinstance(found, Rejected)
    assert found.cause == "static-memory", found.reason


@pytest.mark.parametrize(("factor", "passes"), [("2", True), ("2.001", False)])
def test_a_triton_kernel_goes_from_its_file_to_a_verdict(factor: str, passes: bool, judged: Judged) -> None:
    pytest.importorskip("triton")
    found = judged(text=kernels.TRITON.replace("FACTOR", factor))
    assert isinstance(found, Passed) == passes, found
    assert passes or (isinstance(found, Rejected) and found.cause == "wrong-output")
