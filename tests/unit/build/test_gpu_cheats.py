"""The GPU gauntlet's files as far as they go without a GPU: refused where they must be, built where the device judges,
and with nothing to show for their attacks on the builder. Real sandbox, real compilers; no file is executed here.

A theft that works launches a kernel named `stolen`: the plans tell.
"""

from __future__ import annotations

import ast
import contextlib
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from kernellab.build import cuda, nvrtc_job, triton
from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.bundle import unpack
from kernellab.build.cache import CodeCache
from kernellab.build.cuda import CudaBuilder
from kernellab.build.exchange import MAX_STATIC
from kernellab.build.triton import TritonBuilder
from kernellab.core.records import Cause
from kernellab.core.targets import backend_of
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims

FOLDER = Path(__file__).parents[2] / "cheats" / "gpu"
SHAPES: dict[str, list[Dims]] = {
    "softmax": [{"M": 3, "N": 7}, {"M": 700, "N": 1024}],
    "stencil3x3": [{"H": 3, "W": 2, "C": 5}, {"H": 64, "W": 64, "C": 2}],
    "stencil5x5": [{"H": 3, "W": 2, "C": 5}, {"H": 64, "W": 64, "C": 2}],
    "particle_filter": [{"N": 7}, {"N": 65536}],
}
REASONS = {
    "cheat_build_cuda_launch_device": "cudaGetParameterBuffer",
    "cheat_build_dynamic_parallelism": "device-side kernel launch",
    "cheat_build_error": 'identifier "nothing" is undefined',
    "cheat_build_include_environ": "only CUDA's own headers",
    "cheat_build_include_passwd": "only CUDA's own headers",
    "cheat_build_missing_kernel": "torch_softmax",
    "cheat_build_static_shared_300k": "shared",
    "cheat_build_unroll_bomb": "the compiler did not end",
    "cheat_flags_include_path": "not on the list of harmless ones",
    "cheat_flags_output": "not on the list of harmless ones",
    "cheat_flags_pre_include": "not on the list of harmless ones",
    "cheat_flags_relocatable": "not on the list of harmless ones",
    "cheat_forge_buffer_2": "given buffer 2, the task has 2",
    "cheat_forge_buffer_999": "is not a plan",
    "cheat_forge_deep_reply": "ended without a result",
    "cheat_forge_grid_negative": "is not a plan",
    "cheat_forge_no_steps": "launched nothing",
    "cheat_forge_one_plan": "is not a plan",
    "cheat_forge_scratch_negative": "is not a plan",
    "cheat_forge_scratch_terabyte": "bytes of scratch",
    "cheat_forge_triton_code": "is not a bundle",
    "cheat_forge_triton_empty_module": "not a readable cubin",
    "cheat_forge_verdict": "no reason given",
    "cheat_heap_hoard": "device-heap",
    "cheat_launch_block_2048": "2048 threads",
    "cheat_launch_by_call": "another plan when it is called again",
    "cheat_launch_grid_2_31": "is not a plan",
    "cheat_launch_grid_y_too_large": "65535 is the most",
    "cheat_launch_never_ends": "did not end",
    "cheat_launch_nothing": "launched nothing",
    "cheat_launch_scratch_20g": "bytes of scratch",
    "cheat_launch_scratch_in_pieces": "bytes of scratch",
    "cheat_launch_shared_300k": "shared memory",
    "cheat_printf_flood": "printf",
    "cheat_source_random": "another at another shape",
    "cheat_stale_in_device_heap": "device-heap",
    "cheat_static_1mb": "static-memory",
    "cheat_static_initialised_1mb": "static-memory",
    "cheat_static_managed": "static-memory",
    "cheat_triton_static_in_ptx": "static-memory",
    "cheat_two_faced_by_frames": "another at another shape",
}
NEVER_END = ("cheat_build_unroll_bomb", "cheat_launch_never_ends")
LEAVE_BEHIND = ("cheat_host_leaves_a_file", "cheat_triton_poisons_cache")
MARKS = ("klab_seen_before", "klab_left_behind")
DOOR = 47653  # where cheat_host_socket knocks
SECRET = "KLAB_UNIT_TEST_API_KEY", "a-secret-of-the-laboratory"


@dataclass(frozen=True)
class Entry:
    name: str
    text: str
    about: str
    constants: dict[str, Any]

    @property
    def backend(self) -> str:
        return backend_of(self.text)


@dataclass(frozen=True)
class Yard:
    """What came of every file, of the two that leave things behind when built again, and who knocked at the door."""

    results: dict[str, Built | NotBuilt]
    again: dict[str, Built | NotBuilt]
    visitors: int


def read(path: Path) -> Entry:
    tree = ast.parse(path.read_text())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with contextlib.suppress(ValueError):
                found[node.targets[0].id] = ast.literal_eval(node.value)
    return Entry(path.stem, path.read_text(), ast.get_docstring(tree) or "", found)


ENTRIES = [read(path) for path in sorted(FOLDER.glob("*.py"))]
CHEATS = [e for e in ENTRIES if e.name.startswith("cheat_")]
HONEST = [e for e in ENTRIES if e.name.startswith("honest_")]
REFUSED = [e for e in CHEATS if e.constants["STAGE"] == "build"]
BUILDABLE = [e for e in ENTRIES if e not in REFUSED]


def missing(entry: Entry) -> str:
    return triton.missing() if entry.backend == "triton" else nvrtc_job.PROBLEM


def plans_of(result: Built | NotBuilt) -> set[str]:
    return {step.kernel for plan in result.plans for step in plan.steps} if isinstance(result, Built) else set()


@contextlib.contextmanager
def treasures() -> Iterator[socket.socket]:
    """Things worth stealing: an open door, a key in the environment, a secret in the temporary folder."""
    file = Path("/tmp") / f"klab_secret_{os.getpid()}"
    file.write_text(SECRET[1])
    os.environ[SECRET[0]] = SECRET[1]
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # test runs beside each other
        door.bind(("127.0.0.1", DOOR))
        door.listen()
        door.setblocking(False)
        try:
            yield door
        finally:
            file.unlink()
            del os.environ[SECRET[0]]


@pytest.fixture(scope="module")
def yard() -> Yard:
    """Every file that can be built here, built once, two at a time."""
    there = [e for e in ENTRIES if not missing(e)]
    preload = tuple(dict.fromkeys((*cuda.PRELOAD, *triton.PRELOAD)))
    with treasures() as door, open_sandbox("auto", preload, cuda.header_folders()) as sandbox:

        def build(entry: Entry) -> tuple[str, Built | NotBuilt]:
            make = TritonBuilder if entry.backend == "triton" else CudaBuilder
            builder = make(sandbox, CodeCache(None), "sm_90", 2.0 if entry.name in NEVER_END else 30.0)
            name = str(entry.constants["TASK"])
            shapes = SHAPES[name.removesuffix("_bf16").removesuffix("_f16")]
            return entry.name, builder.build(load_task(name).on("cuda"), Candidate(entry.text, entry.name), {}, shapes)

        with ThreadPoolExecutor(2) as pool:
            results = dict(pool.map(build, there))
        again = dict(build(entry) for entry in there if entry.name in LEAVE_BEHIND)
        visitors = 0
        with contextlib.suppress(BlockingIOError):
            door.accept()[0].close()
            visitors = 1
        return Yard(results, again, visitors)


def result_of(yard: Yard, entry: Entry) -> Built | NotBuilt:
    if missing(entry):
        pytest.skip(missing(entry))
    return yard.results[entry.name]


def test_the_gauntlet_is_large_and_mixes_both_languages() -> None:
    for entries, least in ((CHEATS, 40), (HONEST, 14)):
        assert len(entries) >= least
        assert {e.backend for e in entries} == {"cuda", "triton"}
    assert {e.constants["TASK"] for e in ENTRIES} >= {"softmax", "softmax_bf16", "stencil3x3", "particle_filter"}
    assert {e.name for e in REFUSED} == set(REASONS)


@pytest.mark.parametrize("entry", CHEATS, ids=lambda e: e.name)
def test_each_cheat_says_what_it_tries_and_what_defeats_it(entry: Entry) -> None:
    assert "Defeated by:" in entry.about or "Harmless:" in entry.about
    assert "catalogue:" in entry.about
    assert set(entry.constants["CAUGHT_BY"]) <= {*get_args(Cause), "build-failed", "invalid"}
    assert entry.constants["STAGE"] in ("build", "run")
    if entry.constants.get("HARMLESS"):
        assert "armless" in entry.about


@pytest.mark.slow
@pytest.mark.parametrize("entry", REFUSED, ids=lambda e: e.name)
def test_what_needs_no_device_to_be_seen_is_refused_with_its_reason(entry: Entry, yard: Yard) -> None:
    result = result_of(yard, entry)
    assert isinstance(result, NotBuilt), f"it was built: {sorted(plans_of(result))}"
    assert result.status in entry.constants["CAUGHT_BY"]
    assert REASONS[entry.name] in result.reason


@pytest.mark.slow
@pytest.mark.parametrize("entry", BUILDABLE, ids=lambda e: e.name)
def test_what_the_device_must_judge_is_built(entry: Entry, yard: Yard) -> None:
    result = result_of(yard, entry)
    assert isinstance(result, Built), f"{result.status}: {result.reason}\n{result.log[:500]}"
    assert len(result.plans) == 2
    assert all({s.kernel for s in part.plan.steps} <= set(unpack(part.code).kernels) for part in result.parts)
    assert result.artifact.static_bytes <= MAX_STATIC


@pytest.mark.slow
def test_nothing_was_stolen(yard: Yard) -> None:
    for name, result in (*yard.results.items(), *yard.again.items()):
        assert not any(kernel.startswith("stolen") for kernel in plans_of(result)), name
        said = result.log + (result.reason if isinstance(result, NotBuilt) else "")
        assert SECRET[1] not in said, name
        assert "root:x:0" not in said, name


@pytest.mark.slow
def test_nobody_came_to_the_door_and_nothing_was_left_behind(yard: Yard) -> None:
    assert yard.visitors == 0
    places = [Path(p) for p in ("/tmp", "/var/tmp", "/dev/shm", os.getcwd(), os.path.expanduser("~"))]
    assert not [place / mark for place in places for mark in MARKS if (place / mark).exists()]
    assert not Path("/tmp/klab_gpu_cheat").exists()


@pytest.mark.slow
def test_the_door_and_the_secrets_were_really_there() -> None:
    with treasures() as door:
        with socket.create_connection(("127.0.0.1", DOOR), 1):
            door.setblocking(True)
            door.accept()[0].close()
        assert os.environ[SECRET[0]]
        assert (Path("/tmp") / f"klab_secret_{os.getpid()}").read_text() == SECRET[1]
