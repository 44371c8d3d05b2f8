"""The built-in Triton files against the tasks' float64 references, run by Triton's own interpreter: no GPU is needed.

The interpreter is chosen when Triton is imported, so the work is done by this file run as a script, for all tests together.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernellab
from kernellab.propose.recipe import candidates_in
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.dtypes import variant_name
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import error_ulp, expect, run_reference
from kernellab.tasks.spec import Array, Dims, Task

FOLDER = Path(kernellab.__file__).parent / "propose" / "recipes" / "triton"
TEXTS = {c.name: c.text for c in candidates_in(FOLDER)}
FILES = list(TEXTS)
ITEMSIZE = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4}
EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
TINY = {"bfloat16": 2.0**-126, "float16": 2.0**-14}
GUARD = 64
PAST = 1 << 20
"""The interpreter runs programs one after another, so none may wait for others: counters start past any target, and the
kernel runs twice; the second run finds what all programs left in the first, as if they had met."""
MORE: dict[str, list[Dims]] = {
    "softmax": [{"M": 9, "N": 781}, {"M": 8, "N": 781}, {"M": 5, "N": 512}, {"M": 3, "N": 2048}],
    "stencil3x3": [{"H": 3, "W": 300, "C": 1}, {"H": 5, "W": 19, "C": 4}],
    "stencil5x5": [{"H": 3, "W": 300, "C": 1}, {"H": 5, "W": 19, "C": 4}],
    "particle_filter": [{"N": 20_000}, {"N": 65_536}],
}


class Buffer:
    """What launch() sees of a buffer, as in the laboratory; the tensor is for the kernel alone. Guarded on both sides."""

    def __init__(self, shape: int | tuple[int, ...], dtype: str, values: Any = None) -> None:
        import torch

        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype, self.itemsize, self.ndim = dtype, ITEMSIZE[dtype], len(self.shape)
        self.size = int(np.prod(self.shape))
        self.nbytes = self.size * self.itemsize
        poison = 0 if dtype == "int32" else float("nan")
        self._whole = torch.full((self.size + 2 * GUARD,), poison, dtype=getattr(torch, dtype))
        self._tensor = self._whole[GUARD : GUARD + self.size]
        if values is not None:
            self._tensor.copy_(torch.from_numpy(np.array(values)).reshape(-1))

    def values(self) -> Array:
        return self._tensor.double().numpy().reshape(self.shape)

    def is_guarded(self) -> bool:
        import torch

        outside = torch.cat([self._whole[:GUARD], self._whole[GUARD + self.size :]])
        return bool((outside != outside).all())


def load(name: str, text: str | None = None) -> Any:
    """The candidate as a module, with scratch() as a global."""
    kind = "recipe" if text is None else "changed"
    path = Path(os.environ.get("KLAB_TEST_FOLDER") or tempfile.mkdtemp()) / f"{name}_{kind}.py"
    path.write_text(text or TEXTS[name])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    module.START = 0

    def scratch(shape: int | tuple[int, ...], dtype: str = "float32", zero: bool = False) -> Buffer:
        return Buffer(shape, dtype, np.full(shape, module.START, dtype) if zero else None)

    module.scratch = scratch
    spec.loader.exec_module(module)
    return module


def task_of(module: Any) -> Task:
    return TASKS[module.TASKS[0]]


def parameter_sets(module: Any, allowed: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """The defaults, then combinations, drawn with a fixed seed, until every choice of every parameter has been in one."""
    rng = random.Random(7)
    space: dict[str, list[Any]] = module.SPACE
    sets: list[dict[str, Any]] = [{k: v[0] for k, v in space.items()}]
    for name, choices in space.items():
        for choice in choices:
            if any(s[name] == choice for s in sets):
                continue
            drawn = ({**{k: rng.choice(v) for k, v in space.items()}, name: choice} for _ in range(500))
            sets.append(next(s for s in drawn if allowed(s)))
    return sets


def check(module: Any, dims: Dims, dtype: str, distribution: str, params: dict[str, Any]) -> dict[str, Any]:
    """One launch on fresh inputs. Returns what is wrong, or nothing of note."""
    task = task_of(module)
    drawn = TASKS[variant_name(task.name, dtype)]  # how far out inputs lie depends on the type
    inputs = draw_inputs(drawn, dims, distribution, np.random.default_rng([len(distribution), *dims.values()]))
    ins = [Buffer(a.shape, dtype, a.astype(np.float32)) for a in inputs]
    low_in = dtype if task.name != "particle_filter" else "float32"
    outs = [Buffer(b.shape(dims), low_in) for b in task.outputs]
    module.START, module.RUNS = (PAST, 2) if params.get("MEET") == "spin" else (0, 1)
    module.launch(*ins, *outs, **params)
    report = {"params": params, "dims": dims, "dtype": dtype, "distribution": distribution, "wrong": ""}
    if not all(b.is_guarded() for b in outs):
        report["wrong"] = "wrote outside its output"
        return report
    seen = [b.values().astype(np.float32) for b in ins]
    expected = expect(task, dims, seen)
    exact = run_reference(task, seen)
    for out, e, value in zip(outs, expected, exact, strict=True):
        got = out.values()
        if out.dtype == "float32":
            bad = ~((got.astype(np.float32) >= e.low) & (got.astype(np.float32) <= e.high))
            worst = error_ulp(got.astype(np.float32), value, e.scale)[1]
        else:
            size = np.abs(e.scale) if task.name.startswith("stencil") else np.abs(value)
            ulp = EPS[dtype] * 2.0 ** np.floor(np.log2(np.maximum(size, TINY[dtype])))
            bad = ~(np.abs(got - value) <= 2 * ulp + (4 * TINY[dtype] if dtype == "bfloat16" else 0.0))
            worst = float(np.max(np.abs(got - value) / ulp))
        if bad.any():
            at = int(np.argmax(bad))
            report["wrong"] = (
                f"{int(bad.sum())} of {bad.size} off, first {got.flat[at]} for {value.flat[at]} ({worst:.3g} ULP)"
            )
    return report


def valid_for(module: Any) -> Callable[[dict[str, Any]], bool]:
    """Whether launch() takes a set of parameters at every shape, found without running a kernel."""

    def allowed(params: dict[str, Any]) -> bool:
        module.RUNS = 0
        try:
            for dims in (*task_of(module).edge, *MORE[task_of(module).name]):
                task = task_of(module)
                module.launch(*(Buffer(b.shape(dims), "float32") for b in (*task.inputs, *task.outputs)), **params)
        except ValueError:
            return False
        return True

    return allowed


def interpret(names: list[str], everything: bool) -> Iterator[dict[str, Any]]:
    """The defaults at every edge shape in two types; every other set of parameters at some shapes (or at all)."""
    for name in names:
        module = load(name)
        patch(module)
        task = task_of(module)
        shapes = [*task.edge, *MORE[task.name]]
        small = [d for d in shapes if not name.startswith("stencil") or d["H"] * d["W"] * d["C"] < 1000]
        sets = parameter_sets(module, valid_for(module))
        pairs = list(itertools.product(task.distributions, ("float32", "bfloat16", "float16")))
        random.Random(3).shuffle(pairs)
        draws, started = itertools.cycle(pairs), time.process_time()
        some = 1 if name.startswith("stencil") else 3  # the interpreter is slow where a kernel has many steps
        for k, params in enumerate(sets):
            chosen = shapes if everything or k == 0 else [small[(k + j * 3) % len(small)] for j in range(some)]
            for dims in chosen:
                for _ in range(2 if k == 0 and some > 1 else 1):
                    distribution, dtype = next(draws)
                    yield {"recipe": name, **check(module, dims, dtype, distribution, params)}
        print(f"{name}: {len(sets)} sets, {time.process_time() - started:.1f} s of processor time", file=sys.stderr)


def patch(module: Any) -> None:
    """Buffers become tensors where a kernel is launched, and nowhere else."""
    from triton.runtime.interpreter import InterpretedFunction

    module.RUNS = 1
    original = InterpretedFunction.__dict__.get("klab_run", InterpretedFunction.run)
    InterpretedFunction.klab_run = original
    outer = InterpretedFunction.__dict__.get("klab_call", InterpretedFunction.__call__)
    InterpretedFunction.klab_call = outer

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **options: Any) -> None:
        given = [a._tensor if isinstance(a, Buffer) else a for a in args]
        named = {k: a._tensor if isinstance(a, Buffer) else a for k, a in options.items()}
        for _ in range(module.RUNS):
            original(self, *given, grid=grid, warmup=warmup, **named)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        """A helper of the file itself: the launch has patched its language already, again would double the time."""
        return self.rewrite()(*args, **options) if "scratch" in self.fn.__globals__ else outer(self, *args, **options)

    InterpretedFunction.run = run
    InterpretedFunction.__call__ = call


def controls() -> Iterator[dict[str, Any]]:
    """Kernels made wrong on purpose: a check that lets them pass has not looked."""
    changes = {
        "softmax_row": ("1.0 / tl.sum(e, axis=0)", "1.00001 / tl.sum(e, axis=0)"),
        "softmax_ragged": ("at >= lead, v", "at >= 0, v"),
        "stencil3x3_tile": ("mask=at < end, other", "mask=at < end + 1, other"),
        "particle_two_pass": ("total / square * total", "total / square * 0.9999 * total"),
    }
    for name, (old, new) in changes.items():
        text = TEXTS[name]
        assert old in text, (name, old)
        module = load(name, text.replace(old, new))
        patch(module)
        dims = {"softmax": {"M": 8, "N": 781}, "stencil3x3": {"H": 3, "W": 129, "C": 1}}
        small = dims.get(task_of(module).name, {"N": 100})
        sets = {k: v[0] for k, v in module.SPACE.items()}
        yield {"recipe": f"control:{name}", **check(module, small, "float32", "offset", sets)}


def main() -> None:
    everything = "--everything" in sys.argv
    names = [a for a in sys.argv[2:] if not a.startswith("-")] or FILES
    results = list(interpret(names, everything))
    if "--controls" in sys.argv:
        results += controls()
    Path(sys.argv[1]).write_text(json.dumps(results))


HALVES = {"even": [*FILES[::2], "--controls"], "odd": FILES[1::2]}
"""Two processes, as many as a small machine has cores."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    if importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None:
        pytest.skip("Triton's interpreter needs triton and torch")
    from tests.support.once import once  # not at the top: the script that this file also is has no such package

    folder = once(tmp_path_factory, "triton-recipes", interpreted)
    return [found for name in HALVES for found in json.loads((folder / name).read_text())]


def interpreted(folder: Path) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "KLAB_TEST_FOLDER": str(folder)}
    started = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder / name), *arguments],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, arguments in HALVES.items()
    ]
    for process in started:
        _, said = process.communicate()
        assert process.returncode == 0, said[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_triton_recipe_agrees_with_the_reference_at_every_edge_shape(
    name: str, results: list[dict[str, Any]]
) -> None:
    mine = [r for r in results if r["recipe"] == name]
    wrong = [r for r in mine if r["wrong"]]
    assert wrong == []
    task = next(t for t in TASKS.values() if name.startswith(t.name.split("_")[0]))
    assert all(any(r["dims"] == dims for r in mine) for dims in task.edge)
    assert {r["dtype"] for r in mine} == {"float32", "bfloat16", "float16"}
    assert {r["distribution"] for r in mine} == set(task.distributions)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_choice_of_every_parameter_was_tried(name: str, results: list[dict[str, Any]]) -> None:
    used = {(k, v) for r in results if r["recipe"] == name for k, v in r["params"].items()}
    pytest.importorskip("triton")
    space = load(name).SPACE
    assert used == {(k, v) for k, choices in space.items() for v in choices}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax_row", "softmax_ragged", "stencil3x3_tile", "particle_two_pass"])
def test_a_kernel_made_wrong_is_noticed(name: str, results: list[dict[str, Any]]) -> None:
    (control,) = [r for r in results if r["recipe"] == f"control:{name}"]
    assert control["wrong"]


@pytest.mark.parametrize("name", FILES)
def test_every_triton_file_says_what_it_is_for(name: str) -> None:
    pytest.importorskip("triton")
    module = load(name)
    family = module.TASKS[0]
    assert list(module.TASKS) == [family, f"{family}_bf16", f"{family}_f16"]
    assert family in TASKS
    assert name.split("_")[0] in family
    assert "Hypothesis:" in module.__doc__
    assert "Refuted" in module.__doc__
    assert all(len(choices) == len(set(choices)) >= 2 for choices in module.SPACE.values())


@pytest.mark.parametrize(
    ("name", "dims", "params", "why"),
    [
        ("softmax_row", {"M": 2, "N": 131_072}, {}, "registers"),
        ("softmax_rows", {"M": 2, "N": 64}, {"ROWS": 1, "WARPS": 4, "WITHIN": "warp"}, "fewer rows than warps"),
        ("stencil5x5_tile", {"H": 4, "W": 4, "C": 1}, {"LANES": 64, "WARPS": 8}, "fewer lanes than threads"),
        ("particle_resident", {"N": 9}, {"HELD": 1, "MEET": "launch"}, "outlive"),
        ("particle_resident", {"N": 9}, {"PROGRAMS": 133}, "multiprocessors"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(name: str, dims: Dims, params: dict[str, Any], why: str) -> None:
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    module = load(name)
    task = task_of(module)
    buffers = [Buffer(b.shape(dims), "float32") for b in (*task.inputs, *task.outputs)]
    with pytest.raises(ValueError, match=why):
        module.launch(*buffers, **params)


if __name__ == "__main__":
    main()
