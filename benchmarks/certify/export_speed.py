"""An exported module against the laboratory's own machine code: is what others get as fast as what was certified?

python benchmarks/certify/export_speed.py [--task softmax] [--shape 4096x1024] [--processes 9] [--pairs 101]

Searches a shape, certifies the best trial, exports it, and compares the exported package with the machine code that
the laboratory measured, two ways:
  module   in a process: the package's Python function (checks, ctypes and all) against the recorded machine code
           called bare, interleaved in random order, over a ring of buffers larger than the caches
  prepared the same for the package's prepare(), which checks once
  again    the same for a second copy of the recorded machine code: what the comparison itself cannot tell
  library  in the laboratory: the package's C file, handed in as a candidate, against the recorded kernel, by the
           laboratory's clock on fresh inputs, as in any confirmation
Where a process's code and data lie in memory changes the same machine code's time by a few percent, for as long as it
lives. So each comparison is made in several fresh processes, each median is one observation, and the interval is over
those.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import random
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from kernellab import api
from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.plan import BufferArg, FloatArg, IntArg, Plan, ScratchArg
from kernellab.certify.confirmed_trial import prove_trial
from kernellab.certify.export import export
from kernellab.certify.issue import certify
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger.store import Store
from kernellab.measurement.bench import Arm
from kernellab.measurement.stats import estimate, median
from kernellab.search.experiment_run import task_of
from kernellab.tasks.spec import Task, in_order

_RING_BYTES = 96 << 20


class Recorded:
    """The machine code of a trial, called as the laboratory's worker calls it."""

    def __init__(self, folder: Path, code: bytes, plan: Plan, stubs: dict[tuple[str, bool, str], str]) -> None:
        self._libraries, self._plan, self._stubs = [], plan, stubs
        for copy in range(2):
            path = folder / f"recorded-{copy}.so"
            path.write_bytes(code)
            self._libraries.append(ctypes.CDLL(str(path)))
        self._work = [np.zeros(n + 64, np.uint8) for n in plan.scratch]

    def bind(self, buffers: list[np.ndarray]) -> list[list[tuple[Any, tuple[Any, ...]]]]:
        return [self._bind(library, buffers) for library in self._libraries]

    def _bind(self, library: ctypes.CDLL, buffers: list[np.ndarray]) -> list[tuple[Any, tuple[Any, ...]]]:
        calls = []
        for step in self._plan.steps:
            pointers = [self._address(a, buffers) for a in step.args if isinstance(a, (BufferArg, ScratchArg))]
            integers = [a.value for a in step.args if isinstance(a, IntArg)]
            floats = [a.value for a in step.args if isinstance(a, FloatArg)]
            arguments = (
                (ctypes.c_void_p * max(1, len(pointers)))(*pointers),
                (ctypes.c_longlong * max(1, len(integers)))(*integers),
                (ctypes.c_double * max(1, len(floats)))(*floats),
                (ctypes.c_long * 3)(*(*(step.grid or ()), 1, 1, 1)[:3]),
            )
            function = library[self._stubs[step.signature]]
            function.restype = None
            calls.append((function, arguments))
        return calls

    def _address(self, argument: BufferArg | ScratchArg, buffers: list[np.ndarray]) -> int:
        if isinstance(argument, BufferArg):
            return int(buffers[argument.index].ctypes.data)
        return -(-int(self._work[argument.index].ctypes.data) // 64) * 64


def in_process(task: Task, dims: dict[str, int], package: Any, recorded: Recorded, rounds: int) -> dict[str, float]:
    """Median ratio to the recorded machine code of module, prepared call and a second copy, and its median seconds."""
    sets = _ring(task, dims, package, recorded)
    inputs, outputs, bound, *_ = sets[0]
    _bare(bound[0])
    wanted = [a.copy() for a in outputs]
    found = getattr(package, task.name)(*inputs)
    found = found if isinstance(found, tuple) else (found,)
    assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True)), "export and record differ"
    function = getattr(package, task.name)
    arms = {
        "module": lambda s: function(*s[0], out=s[1]),
        "prepared": lambda s: s[3](),
        "recorded": lambda s: _bare(s[2][0]),
        "again": lambda s: _bare(s[2][1]),
    }
    dice, turn, disturbed = random.Random(os.getpid()), 0, 0
    kept: dict[str, list[float]] = {name: [] for name in arms}
    while len(kept["module"]) < rounds and disturbed < 20 * rounds:
        took, switches = {}, 0
        for name in dice.sample(list(arms), len(arms)):
            place = sets[turn % len(sets)]
            turn += 1
            before = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
            started = time.perf_counter()
            arms[name](place)
            took[name] = time.perf_counter() - started
            switches += resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw - before
        if switches or turn < 2 * len(sets):
            disturbed += 1
            continue
        for name, seconds in took.items():
            kept[name].append(seconds)
    ratios = {
        name: median([a / b for a, b in zip(kept[name], kept["recorded"], strict=True)])
        for name in ("module", "prepared", "again")
    }
    return {**ratios, "recorded_s": median(kept["recorded"]), "rounds": len(kept["module"]), "disturbed": disturbed}


def _ring(task: Task, dims: dict[str, int], package: Any, recorded: Recorded) -> list[tuple[Any, ...]]:
    make = package.host.empty
    size = sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))
    rng = np.random.default_rng(0)
    sets = []
    for _ in range(max(5, _RING_BYTES // size)):
        inputs = [make(b.shape(dims), b.dtype) for b in task.inputs]
        outputs = tuple(make(b.shape(dims), b.dtype) for b in task.outputs)
        for array in inputs:
            array[...] = rng.standard_normal(array.shape)
        for array in outputs:
            array.fill(0)
        sets.append((inputs, outputs, recorded.bind([*inputs, *outputs]), package.prepare(*inputs, out=outputs)))
    return sets


def _bare(bound: list[tuple[Any, tuple[Any, ...]]]) -> None:
    for function, arguments in bound:
        function(*arguments)


def here(
    opened: OpenTask, dims: dict[str, int], built: Built, text: str, symbol: str, pairs: int, times: int
) -> list[float]:
    """Time of the exported C file over that of the recorded kernel, by the laboratory's clock; fresh workers each time."""
    names = ", ".join(b.name for b in (*opened.task.inputs, *opened.task.outputs))
    sizes = ", ".join(str(v) for v in dims.values())
    work = max(64, sum(-(-n // 64) * 64 for n in built.timed.plan.scratch))
    launch = f'def launch({names}):\n    kernel("{symbol}")({names}, {sizes}, scratch({work}, "uint8"))\n'
    flags = [f for f in built.artifact.flags if f.startswith(("-O", "-f", "-m")) and f not in _OURS]
    candidate = Candidate(f"SOURCE = {text!r}\nFLAGS = {flags!r}\n{launch}", "exported")
    exported = opened.builder.build(opened.task, candidate, {}, [dims])
    assert not isinstance(exported, NotBuilt), exported.reason
    ratios, busy = [], 0
    for _ in range(times):
        stage = opened.stage(dims)
        try:
            first = Arm("exported", stage.start_worker(exported, stage.ring, 0), 0)
            second = Arm("recorded", stage.start_worker(built, stage.ring, 1), 1)
            found, _ = stage.bench.compare(first, second, pairs)
            first.worker.close()
            second.worker.close()
            busy += found.disturbed
            ratios.append(1 / found.speedup().value)
        finally:
            stage.close()
    print(f"in the laboratory: {times} comparisons of {pairs} pairs, {busy} of them on a machine too busy to tell")
    return ratios


_OURS = ("-fPIC", "-fno-ident", "-fopenmp", "-march=native", "-mcpu=native", "-fno-sanitize=undefined")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="softmax")
    parser.add_argument("--shape", default="4096x1024")
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=101, help="in each process")
    parser.add_argument("--processes", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        os.environ |= {"KLAB_HOME": str(home / "key"), "XDG_CACHE_HOME": str(home / "cache")}
        outcome = api.optimize(
            options.task, shapes=[options.shape], effort="quick", trials=options.trials, out=home / "run"
        )
        number = outcome.data()["trial"]
        _, path = certify(home / "run", number)
        done = export([path], "module", home / "package", unreviewed=True)
        compare(options, home, number, done.package)


def compare(options: argparse.Namespace, home: Path, number: int, name: str) -> None:
    proof = prove_trial(home / "run", number)
    task, locator = task_of(home / "run")
    dims = in_order(proof.trial.dims, task)
    text = (home / "package" / name / "kernel_0.c").read_text()
    with OpenTask(Settings(effort="quick", device="cpu"), task, locator) as opened:
        candidate = Candidate(proof.source, proof.trial.proposal.name)
        built = opened.builder.build(opened.task, candidate, dict(proof.trial.proposal.params), [dims])
        assert not isinstance(built, NotBuilt)
        assert built.timed.code == Store(home / "run").get(proof.trial.artifact.code), (
            "the build is not the recorded one"
        )
        ratios = {"library": here(opened, dims, built, text, f"{name}_0", options.pairs, options.processes)}
    seen = [_in_fresh_process(home, name, dims, built, options.pairs) for _ in range(options.processes)]
    print(
        f"in {options.processes} processes: {options.pairs} rounds each, {sum(s['disturbed'] for s in seen):.0f} set aside"
    )
    ratios |= {arm: [s[arm] for s in seen] for arm in ("module", "prepared", "again")}
    recorded_s = median([s["recorded_s"] for s in seen])
    print(f"{options.task} {options.shape}: {proof.trial.proposal.name}")
    print(
        f"certified {proof.timing.latency_s * 1e3:.4f} ms; recorded machine code in a process {recorded_s * 1e3:.4f} ms"
    )
    for arm in ("module", "prepared", "library", "again"):
        found = estimate(ratios[arm])
        over = [f"{100 * (v - 1):+.2f}" for v in (found.value, found.low, found.high)]
        print(f"{arm:8} {over[0]} % against the recorded machine code [{over[1]}, {over[2]}]")
    print(json.dumps({**ratios, "recorded_s": recorded_s, "certified_s": proof.timing.latency_s}))


def _in_fresh_process(home: Path, name: str, dims: dict[str, int], built: Built, pairs: int) -> dict[str, float]:
    """A spawned process: everything in it is mapped anew."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, home, name, dims, built, pairs).result()


def _measure(home: Path, name: str, dims: dict[str, int], built: Built, pairs: int) -> dict[str, float]:
    sys.path.insert(0, str(home / "package"))
    task, _ = task_of(home / "run")
    recorded = Recorded(home, built.timed.code, built.timed.plan, built.timed.stubs)
    return in_process(task, dims, importlib.import_module(name), recorded, pairs)


if __name__ == "__main__":
    main()
