"""Shared by all tests: one sandbox and one builder for the session, and the smallest tasks and candidates there are."""

from __future__ import annotations

import atexit
import gc
import os
import random
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from tests.support.home import code_folder, settle
from tests.support.shares import Heavy, left_out

from kernellab.build import c as c_backend
from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.c import CBuilder
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import Compiler, find_compiler
from kernellab.core.records import Param
from kernellab.core.settings import Settings
from kernellab.measurement import ring
from kernellab.run import cpu
from kernellab.run.cpu import CpuDevice
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.inputs import STANDARD
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.spec import Array, Buffer, Dims, Task

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait for each other do not spin meanwhile
settings.register_profile("any machine", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("any machine")
MakeCandidate = Callable[..., Candidate]

DOUBLE = "void k(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }"
LAUNCH = 'def launch(x, y):\n    kernel("k")(x, y, x.size)\n'
TASK_FILE = '''
"""Twice the cube of x; the loop leaves NumPy's temporaries out."""
import numpy as np
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x):
    return 2 * x ** 3

def with_numpy(x, y):
    y[...] = np.float32(2) * (x * x * x)

TASK = Task(name="cube", about="2 x^3", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),),
            reference=reference, baselines={"numpy": with_numpy}, tune=({"N": 65536}, {"N": 32768}),
            held_out=({"N": 5003},),
            edge=({"N": 1}, {"N": 7}, {"N": 1025}), distributions=STANDARD)
SPACE = {"STEP": [1, 2, 0, 3], "BAD": [0, 1]}
SOURCE = r"""
void cube(const float *restrict x, float *restrict y, long n) {
    for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]) + BAD;
}
"""
FLAGS = ["-O3"]

def launch(x, y, STEP=1, BAD=0):
    if STEP == 0:
        raise ValueError("a step of nothing")
    kernel("cube")(x, y, x.size)
'''


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="no samples: the whole gauntlet, every case, the slow tests")
    parser.addoption("--sample-seed", type=int, help="of all samples; a new one each time unless given")
    parser.addoption("--heavy-share", type=int, default=6, help="one in so many of the heavy tests; 1 takes them all")


def pytest_configure(config: pytest.Config) -> None:
    """One seed, also for the workers: what they collect must be the same."""
    given = getattr(config, "workerinput", {}).get("sample_seed", config.option.sample_seed)
    config.option.sample_seed = secrets.randbits(32) if given is None else given


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Before a worker starts, which gets the options of the command line and no others."""
    node.workerinput["sample_seed"] = node.config.option.sample_seed


def pytest_report_header(config: pytest.Config) -> str:
    seed, share = config.getoption("--sample-seed"), config.getoption("--heavy-share")
    return (
        "every case"
        if config.getoption("--all")
        else f"a sample of the gauntlet, of long tables and one in {share} of the heavy tests: --sample-seed {seed}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to --all what is slow, all but some cases of a table that is marked `sample`, and most of what is `heavy`."""
    if config.getoption("--all"):
        return
    left = {item for item in items if item.get_closest_marker("slow")} | _not_drawn(config, items)
    left |= _too_heavy(config, [item for item in items if item not in left])
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def _too_heavy(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """Of the heavy tests those that this session leaves to others."""
    heavy = {
        Heavy(item.nodeid, mark.kwargs.get("of", item.nodeid)): item
        for item in items
        if (mark := item.get_closest_marker("heavy"))
    }
    left = left_out(heavy, config.getoption("--heavy-share"), config.getoption("--sample-seed"))
    return {item for unit, item in heavy.items() if unit.test in left}


def _not_drawn(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each test marked sample(N): all but N of its cases; N for every value of the parameter that it names as `each`. The
    seed draws them, the same ones in every worker, and the same ones for all tests that say `of` what they are a sample."""
    tables: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and (found := item.get_closest_marker("sample")):
            each = found.kwargs.get("each")
            part = f" {item.callspec.params[each]}" if each else ""
            tables.setdefault(item.nodeid.partition("[")[0] + part, []).append(item)
    left: set[pytest.Item] = set()
    for name, cases in tables.items():
        mark = next(cases[0].iter_markers("sample"))
        rng = random.Random(f"{config.getoption('--sample-seed')} {mark.kwargs.get('of', name)}")
        ids = sorted(case.callspec.id for case in cases)
        drawn = set(rng.sample(ids, min(mark.args[0], len(ids))))
        left |= {case for case in cases if case.callspec.id not in drawn}
    return left


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Imports and tables of cases cause many collections of garbage, and leave none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What was imported stays to the end, torch with it: no collection of garbage has to look through it again, and what
    tests leave behind is little."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    atexit.register(gc.unfreeze)  # extensions complain of what is left over when Python ends


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """tests/unit/build mirrors src/kernellab/build; pytest leaves folders of that name out unless told otherwise."""
    return False if collection_path.name == "build" and collection_path.parent.name == "unit" else None


def double(x: Array) -> Array:
    return 2 * x


def double_in_place(x: Array, y: Array) -> None:
    np.multiply(x, 2, out=y)


@pytest.fixture(scope="session", autouse=True)
def small_cache() -> Iterator[None]:
    """Runs in these processes read through as much before each of their thousands of samples as if the cache were a small one:
    on a server's that is a third of their time, and no test looks at how fast anything was. klab's own processes read it all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ring, "last_level_cache", lambda: 1 << 20)
        yield


@pytest.fixture(scope="session")
def double_task() -> Task:
    """y[N] = 2 x[N]: the smallest task that every part of the chain accepts."""
    return Task(
        name="double", about="y = 2 x", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),), reference=double,
        baselines={"numpy": double_in_place}, tune=({"N": 4096},), held_out=({"N": 5003},),
        edge=({"N": 1}, {"N": 7}, {"N": 1025}), distributions=STANDARD,
    )  # fmt: skip


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("auto", (*c_backend.PRELOAD, *cpu.PRELOAD)) as opened:
        yield opened


@pytest.fixture(scope="session")
def device(sandbox: Sandbox) -> CpuDevice:
    """One processor, for one thread."""
    return CpuDevice(sandbox, 1, [min(os.sched_getaffinity(0))])


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    return find_compiler()


@pytest.fixture(scope="session")
def code_cache(tmp_path_factory: pytest.TempPathFactory) -> CodeCache:
    """For the session and all its workers."""
    return CodeCache(code_folder(tmp_path_factory))


@pytest.fixture(scope="session")
def builder(sandbox: Sandbox, compiler: Compiler, code_cache: CodeCache) -> CBuilder:
    return CBuilder(sandbox, compiler, code_cache)


@pytest.fixture(scope="session")
def make_candidate() -> MakeCandidate:
    """A candidate file from C text; everything else has a default that doubles."""

    def make(source: str = DOUBLE, launch: str = LAUNCH, head: str = "", name: str = "test") -> Candidate:
        return Candidate(f"{head}\nSOURCE = r'''{source}'''\n{launch}", name)

    return make


@pytest.fixture(scope="session")
def build(builder: CBuilder, double_task: Task, make_candidate: MakeCandidate) -> Callable[..., Built]:
    """Build C text for the doubling task, and insist that it builds."""

    def built(
        source: str = DOUBLE, launch: str = LAUNCH, params: dict[str, Param] | None = None,
        shapes: tuple[Dims, ...] = ({"N": 16},), task: Task = double_task, head: str = "",
    ) -> Built:  # fmt: skip
        result = builder.build(task, make_candidate(source, launch, head), params or {}, shapes)
        assert not isinstance(result, NotBuilt), result.reason
        return result

    return built


@pytest.fixture(scope="session")
def importer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Importer]:
    """One capture sandbox, which takes ten seconds to open: torch and its exporter are in it. It sees this session's folders."""
    pytest.importorskip("torch")
    with Importer([str(tmp_path_factory.getbasetemp())]) as opened:
        yield opened


@pytest.fixture(scope="module")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keys, caches and settings stay out of the user's own folders."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settle(tmp_path_factory.mktemp("home"), code_folder(tmp_path_factory)).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def task_file(own_home: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task small enough that whole runs take seconds, with its own candidate in the same file."""
    path = tmp_path_factory.mktemp("task") / "cube.py"
    path.write_text(TASK_FILE)
    return path


@pytest.fixture(scope="module")
def quick() -> Settings:
    return Settings(effort="quick", trials=4, sampler="exhaustive", sample_s=0.0001)
