"""Abilities of cubins, held against NVIDIA's own disassembler."""

from __future__ import annotations

import functools
import re

import pytest

from kernellab.build import nvrtc_job
from kernellab.build.cpu_abilities import CLOCK, PLACE
from kernellab.build.cpu_ability_rules import UNREADABLE
from kernellab.build.cubin import disassemble, find_tool
from kernellab.build.gpu_abilities import BETWEEN_BLOCKS, WITHIN_A_BLOCK, of_module

pytestmark = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
ARCHS = ["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
READ = 'unsigned t; asm volatile("mov.u32 %%0, %%%%%s;" : "=r"(t)); q[0] = t;'
BULK = 'asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 128;" :: "l"(q), "r"(s));'


@functools.cache
def module(body: str, arch: str = "sm_90a", head: str = "") -> bytes:
    text = f'{head}extern "C" __global__ void k(int *q, float *f, int n) {{ {body} }}'
    done = nvrtc_job.compile_source(text, "test", [f"--gpu-architecture={arch}"], ["k"])
    assert done.cubin is not None, done.log
    return done.cubin


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int i = threadIdx.x; i < n; i += 32) f[i] = 2 * f[i] + blockIdx.x;", {}),
        ("q[0] = clock(); q[1] = clock64();", {CLOCK: {"clock"}}),
        (READ % "globaltimer_lo", {CLOCK: {"globaltimer"}}), (READ % "clock_hi", {CLOCK: {"clock"}}),
        (READ % "pm0", {CLOCK: {"performance counter"}}),
        (READ % "smid", {PLACE: {"smid"}}), (READ % "warpid", {PLACE: {"warpid"}}),
        ("asm volatile(\"red.global.add.s32 [%0], %1;\" :: \"l\"(q), \"r\"(n));", {BETWEEN_BLOCKS: {"RED"}}),
        ("__nanosleep(n);", {"waits": {"NANOSLEEP"}}),
    ],
)  # fmt: skip
def test_what_it_can_do_is_read_on_every_architecture(body: str, expected: dict[str, set[str]], arch: str) -> None:
    found = of_module(module(body, arch))
    assert {k: v for k, v in found.items() if not k.startswith("keeps")} == expected


@pytest.mark.parametrize("arch", ARCHS)
def test_atomics_are_told_apart_by_whom_they_are_for(arch: str) -> None:
    between = (
        "q[0] = atomicAdd(q + 1, n); q[2] = atomicCAS(q + 3, n, 1); f[0] = atomicAdd(f + 1, 1.5f); atomicMax(q + 9, n);"
    )
    assert BETWEEN_BLOCKS in of_module(module(between, arch))
    within = "__shared__ int s[32]; s[threadIdx.x] = n; __syncthreads(); q[0] = atomicAdd(s + n, 2); q[1] = atomicCAS(s, n, 3);"
    assert WITHIN_A_BLOCK in of_module(module(within, arch))
    assert BETWEEN_BLOCKS not in of_module(module(within, arch))


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a", "sm_120a"])
def test_reductions_of_whole_blocks_of_memory_are_atomics(arch: str) -> None:
    body = f"__shared__ alignas(128) int a[32]; a[n] = 1; unsigned s = (unsigned)__cvta_generic_to_shared(a); {BULK}"
    assert of_module(module(body, arch))[BETWEEN_BLOCKS] == {"UBLKRED"}


def test_memory_that_stays_and_memory_of_a_thread_are_told() -> None:
    assert "keeps 4 bytes of static memory" in of_module(module("q[0] = count++;", head="__device__ int count;\n"))
    body = "volatile int v[64]; for (int i = 0; i < n; i++) v[q[i] & 63] = i; q[1] = v[q[3] & 63];"
    assert any("in local memory" in said for said in of_module(module(body)))


@pytest.mark.heavy
@pytest.mark.skipif(not find_tool(), reason="no nvdisasm on this machine")
@pytest.mark.parametrize("arch", ARCHS)
def test_the_disassembler_sees_the_same(arch: str) -> None:
    body = "q[0] = atomicAdd(q + 1, n); atomicMax(q + 9, n); q[3] = clock(); f[0] = atomicAdd(f + 1, 1.5f);"
    text = disassemble(module(body, arch))
    names = {re.sub("G$", "", n) if n == "REDG" else n for n in re.findall(r"\b(ATOMG|ATOMS|ATOM|REDG|RED)\.", text)}
    assert of_module(module(body, arch))[BETWEEN_BLOCKS] == names
    assert ("SR_CLOCK" in text) == (CLOCK in of_module(module(body, arch)))


def test_another_architecture_is_said_not_to_be_readable() -> None:
    image = bytearray(module("q[0] = clock();", "sm_80"))
    image[48] = image[49] = 50  # compute capability 5.0, of another encoding
    assert of_module(bytes(image))[UNREADABLE] == {"sm_50"}


def test_garbage_is_an_error_in_words() -> None:
    with pytest.raises(ValueError, match="cubin"):
        of_module(b"\x7fELF\x02\x01" + b"\xff" * 60)
