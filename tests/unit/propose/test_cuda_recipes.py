"""The CUDA C++ recipes without a GPU: what they launch on every shape, and that NVRTC turns it into code that spills nothing."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from kernellab.propose.recipe import FOLDER, candidates_in
from kernellab.tasks.builtin import TASKS

FILES = {c.name: c.text for c in candidates_in(FOLDER / "cuda")}
ITEMSIZE = {"float32": 4, "bfloat16": 2, "float16": 2}
SUFFIX = {"float32": "", "bfloat16": "_bf16", "float16": "_f16"}
TIMED: dict[str, list[tuple[int, ...]]] = {
    "softmax": [(16384, 4096), (65536, 1024), (131072, 512), (16384, 781)],
    "stencil3x3": [(4096, 4096, 1), (2048, 2048, 16)],
    "stencil5x5": [(4096, 4096, 1), (2048, 2048, 16)],
    "particle_filter": [(1 << 24,), (1 << 20,), (1 << 16,)],
}
SHARED_LIMIT = 227 * 1024
Params = dict[str, Any]


@dataclass(frozen=True)
class Buffer:
    shape: tuple[int, ...]
    dtype: str

    @property
    def itemsize(self) -> int:
        return ITEMSIZE[self.dtype]


@dataclass(frozen=True)
class Step:
    name: str
    grid: int
    block: int
    shared: int
    args: tuple[Any, ...]
    cooperative: bool


class Recipe:
    """A recipe file run as a candidate is: `kernel` and `scratch` are there, nothing else is."""

    def __init__(self, name: str) -> None:
        self.name, self.steps = name, list[Step]()
        self.scope: dict[str, Any] = {"kernel": self._kernel, "scratch": self._scratch}
        exec(compile(FILES[name], name, "exec"), self.scope)
        self.space: dict[str, list[Any]] = self.scope["SPACE"]
        self.first = {k: v[0] for k, v in self.space.items()}
        self.family = next(t for t in self.scope["TASKS"] if t in TIMED)

    def _kernel(self, name: str, cooperative: bool = False) -> Any:
        steps = self.steps

        class Launcher:
            def __getitem__(self, key: tuple[int, ...]) -> Callable[..., None]:
                grid, block, shared = (*key, 0)[:3]
                return lambda *args: steps.append(Step(name, grid, block, shared, args, cooperative))

        return Launcher()

    def _scratch(self, shape: int, dtype: str = "float32") -> Buffer:
        assert shape >= 1
        return Buffer((shape,), dtype)

    def record(self, shape: tuple[int, ...], dtype: str, params: Params) -> list[Step]:
        self.steps.clear()
        buffers = [Buffer(shape, dtype), Buffer(shape, dtype)]
        if self.family == "particle_filter":
            buffers += [Buffer((1,), dtype), Buffer(shape, "float32"), Buffer((1,), "float32")]
        self.scope["launch"](*buffers, **params)
        return list(self.steps)

    def shapes(self) -> list[tuple[int, ...]]:
        task = TASKS[self.family]
        return TIMED[self.family] + [
            tuple(d.values()) for d in (*task.tune, *task.held_out, *task.edge) if math.prod(d.values()) < 1 << 26
        ]

    def choices(self) -> Iterable[Params]:
        """The first choices, every other choice of one parameter, and some combinations."""
        yield self.first
        for name, choices in self.space.items():
            yield from ({**self.first, name: choice} for choice in choices[1:])
        every = [dict(zip(self.space, values, strict=True)) for values in itertools.product(*self.space.values())]
        yield from random.Random(0).sample(every, min(20, len(every)))


def macros(params: Params) -> list[str]:
    defined = [f"-D{k}={v}" for k, v in params.items()]
    return defined + [f"-D{k}_{v}=1" for k, v in params.items() if isinstance(v, str)]


def spills(source: str, names: list[str], params: Params) -> dict[str, int]:
    """Bytes of local memory (stack frame and spills) of every kernel, by its name expression."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"recipe.cu", 0, [], [])
    for name in names:
        nvrtc.nvrtcAddNameExpression(program, name.encode())
    options = ["--gpu-architecture=sm_90a", "--std=c++17", "--ptxas-options=-v", *macros(params)]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
    nvrtc.nvrtcGetProgramLog(program, log)
    text = log.decode().rstrip("\0")
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, text
    found = re.findall(r"Function properties for (\S+)\s*\n.*?(\d+) bytes stack frame, (\d+) bytes spill stores", text)
    local = {symbol: int(frame) + int(stored) for symbol, frame, stored in found}
    lowered = {name: nvrtc.nvrtcGetLoweredName(program, name.encode())[1].decode() for name in names}
    nvrtc.nvrtcDestroyProgram(program)
    return {name: local[symbol] for name, symbol in lowered.items()}


@pytest.mark.parametrize("name", FILES)
def test_a_recipe_says_why_and_names_its_tasks_where_they_are_looked_for(name: str) -> None:
    recipe, header = Recipe(name), FILES[name].split("SOURCE", 1)[0]
    assert "Hypothesis:" in recipe.scope["__doc__"]
    assert "Refuted if" in recipe.scope["__doc__"]
    assert recipe.scope["TASKS"] == tuple(recipe.family + suffix for suffix in SUFFIX.values())
    assert all(f'"{task}"' in header for task in recipe.scope["TASKS"])
    assert all(len(choices) == len(set(choices)) >= 2 for choices in recipe.space.values())
    defaults = recipe.scope["launch"].__kwdefaults__ or {}
    values = recipe.scope["launch"].__defaults__ or ()
    assert [*values, *defaults.values()] == list(recipe.first.values())


@pytest.mark.parametrize("name", FILES)
def test_every_launch_fits_the_device_on_every_shape(name: str) -> None:
    recipe, valid = Recipe(name), 0
    for params in recipe.choices():
        for dtype, shape in itertools.product(ITEMSIZE, recipe.shapes()):
            try:
                steps = recipe.record(shape, dtype, params)
            except ValueError:
                if params == recipe.first:
                    raise
                break
            assert steps
            for step in steps:
                assert 1 <= step.grid < 1 << 31
                assert step.block % 32 == 0
                assert 32 <= step.block <= 1024
                assert 0 <= step.shared <= SHARED_LIMIT - 2048
                assert not step.cooperative or step.grid <= 132
            valid += 1
    assert valid > 100


@pytest.mark.heavy
@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", ITEMSIZE)
@pytest.mark.parametrize("name", FILES)
def test_the_first_choices_compile_for_hopper_on_every_shape_and_spill_nothing(name: str, dtype: str) -> None:
    recipe = Recipe(name)
    names = {step.name for shape in recipe.shapes() for step in recipe.record(shape, dtype, recipe.first)}
    local = spills(recipe.scope["SOURCE"], sorted(names), recipe.first)
    assert local == dict.fromkeys(names, 0)


@pytest.mark.heavy
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", FILES)
def test_the_last_choices_that_make_sense_compile_for_hopper_on_the_timed_shapes(name: str) -> None:
    recipe = Recipe(name)
    for values in reversed(list(itertools.product(*recipe.space.values()))):
        params = dict(zip(recipe.space, values, strict=True))
        try:
            names = {s.name for shape in TIMED[recipe.family] for s in recipe.record(shape, "bfloat16", params)}
        except ValueError:
            continue
        assert spills(recipe.scope["SOURCE"], sorted(names), params).keys() == names
        return
    pytest.fail("no combination is valid")
