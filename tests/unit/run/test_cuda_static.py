"""Static memory between samples, by the runner's own loop over a driver in host memory; on a GPU in tests/gpu."""

from __future__ import annotations

import functools
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kernellab.build import nvrtc_job
from kernellab.build.bundle import Bundle, pack
from kernellab.run.cuda_kernels import compile_own
from kernellab.run.cuda_process import files_of
from kernellab.run.cuda_serve import Server
from kernellab.run.cuda_static import StaticMemoryChanged

from .fake_static import Driver

pytestmark = pytest.mark.skipif(bool(nvrtc_job.PROBLEM), reason=nvrtc_job.PROBLEM)
SOURCE = """
__device__ unsigned char calls[3];
extern "C" __global__ void count() { calls[0]++; }
extern "C" __global__ void reset() { calls[0] = 0; }
extern "C" __global__ void fill() { calls[0] = 9; }
"""
PLAIN = 'extern "C" __global__ void spills() { volatile int own[99]; own[threadIdx.x] = 1; own[0] = own[threadIdx.x]; }'
SETUP = {"index": 0, "l2_bytes": 1 << 20, "processors": 3, "shared_limit": 101376}


@functools.cache
def made(source: str) -> bytes:
    done = nvrtc_job.compile_source(source, "test", ["--gpu-architecture=sm_90a"], [])
    assert done.cubin is not None, done.log
    return done.cubin


@functools.cache
def own() -> bytes:
    return compile_own("sm_90a")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=made))
    return made


def loaded(*plans: list[str], source: str = SOURCE) -> Server:
    """A runner with one call for each plan, a list of kernels."""
    server = Server(SETUP, own())
    names = {name for plan in plans for name in plan}
    bundle = pack(Bundle((made(source),), {name: (0, name) for name in names}))
    step: dict[str, Any] = {"grid": [1], "block": [1], "shared": 0, "cluster": None, "cooperative": False, "args": []}
    told = {"bundles": [len(bundle)], "plans": [{"bundle": 0, "scratch": [], "zeroed": [], "steps": [{**step, "kernel": k} for k in p]} for p in plans],
            "calls": [{"plan": number, "buffers": []} for number in range(len(plans))]}  # fmt: skip
    with files_of(json.dumps(told).encode(), bundle) as files:
        server.answer({"do": "load", "number": 1}, files)
    return server


def run(server: Server, *calls: int, timed: bool = False) -> dict[str, Any]:
    return server.answer({"do": "run", "number": 1, "calls": list(calls), "timed": timed}, [])


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("plan", [["count"], ["reset", "count"]])
def test_a_counter_is_told_after_the_sample_that_follows_the_first(
    plan: list[str], timed: bool, driver: Driver
) -> None:
    server = loaded(plan)
    run(server, 0, timed=timed)
    for _ in range(3):  # and starts from the same image every time
        with pytest.raises(StaticMemoryChanged, match=r"static memory changed: 1 bytes of 'calls'"):
            run(server, 0, timed=timed)


def test_what_is_filled_once_or_left_as_it_was_passes(driver: Driver) -> None:
    server = loaded(["fill", "reset"], ["fill"])
    assert [run(server, n, timed=True)["seconds"] for n in (0, 1, 0, 1)] == [1e-3] * 4


def test_the_processors_are_scrubbed_before_the_cache_is_cooled_and_the_kernel_runs(driver: Driver) -> None:
    server = loaded(["reset"])
    driver.said.clear()
    run(server, 0, timed=True)
    run(server, 0)
    assert driver.said == ["scrub", "cool", "hold", "reset", "scrub", "reset"]


def test_local_memory_is_overwritten_where_the_kernel_has_any(driver: Driver) -> None:
    server = loaded(["spills"], source=PLAIN)
    driver.said.clear()
    run(server, 0)
    assert driver.said == ["scrub", "scrub_local", "spills"]


@pytest.mark.parametrize("plan", [["count"], ["count", "reset"]])
def test_where_the_driver_names_no_variable_the_module_is_loaded_again_for_every_sample(
    plan: list[str], driver: Driver
) -> None:
    driver.names = False
    server = loaded(plan, ["reset"])
    for _ in range(3):
        driver.said.clear()
        run(server, 0, timed=True)
        assert driver.said == ["load", "unload", "scrub", "cool", "hold", *plan]
        (module,) = server._loaded[1].modules
        assert module.parts[0][1][0] == b"\1", "a fresh copy has counted one call"
    server.answer({"do": "prepare", "number": 1, "calls": [0, 1]}, [])
    server.answer({"do": "unload", "number": 1}, [])
    assert driver.said[-1] == "unload"


def test_a_module_without_static_memory_costs_nothing(driver: Driver) -> None:
    server = loaded(["spills"], source=PLAIN)
    assert server._loaded[1].static == []
