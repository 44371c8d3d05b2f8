"""Whether the judge tells float32 from what only looks like it, on the device.

    python benchmarks/suites/disguises.py --path DIR/kernelbench/level1 [--only 12_ 40_] [--device cuda] [--bytes 2e8] [--json out.json]
    python benchmarks/suites/disguises.py --path DIR/kernelbench/level1 --records DIR --import-only    (elsewhere, before)

For each problem torch's own outputs are judged, eager, under every distribution of the task: in float32 (must pass), with TF32
in products, and with everything in bfloat16 and float16 (one distribution must show each). At the first of the task's shapes whose
buffers take no more than --bytes: its timed ones, those kept back, its edges. Problems are imported in --workers processes side
by side, or read where --records keeps them from an earlier call, and nothing is timed. Run it on suites that you trust: graphs are
run as torch code, in these processes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernellab.core.errors import KlabError
from kernellab.graph.ops.table import row
from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.record import ModuleRecord, read_module_record
from kernellab.tasks.modules.task import OnDevice, module_task
from kernellab.tasks.modules.wishes import Wishes
from kernellab.tasks.spec import Dims, Task, dims_label
from kernellab.tasks.suites import all_problems
from kernellab.tasks.suites.base import Problem
from kernellab.verdict.numeric import within

DISGUISES = ("tf32", "bfloat16", "float16")


@dataclass
class Outcome:
    """`ulp`, `budget_ulp`: of honest float32, by distribution. `seen`: by disguise, the distributions that show it; `same`:
    those under which its outputs are those of float32, bit for bit."""

    problem: str
    refused: str = ""
    shape: str = ""
    products: bool = False
    import_s: float = 0.0
    judge_s: float = 0.0
    ulp: dict[str, float] = field(default_factory=dict)
    budget_ulp: dict[str, float] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    seen: dict[str, list[str]] = field(default_factory=dict)
    same: dict[str, list[str]] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)

    @property
    def distributions(self) -> int:
        """How many it was judged under."""
        return len(self.ulp) + len(self.rejected)


def chosen(task: Task, most: float) -> Dims:
    def size(dims: Dims) -> int:
        return sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))

    shapes = [*task.tune, *task.held_out, *sorted(task.edge, key=size, reverse=True)]
    return next((dims for dims in shapes if size(dims) <= most), shapes[-1])


def judged(found: Outcome, task: Task, most: float) -> None:
    import torch

    captured = task.captured
    assert captured is not None
    graph, dims = captured.graph, chosen(task, most)
    found.shape = dims_label(dims)
    found.products = any(getattr(row(n.op), "kind", "") in ("contraction", "attention") for n in graph.nodes)
    run = task.gpu_baselines["torch"]
    assert isinstance(run, OnDevice)
    for number, kind in enumerate(task.distributions):
        case = captured.oracle.case(dims, kind, 20260 + number)
        if case is None:
            raise KlabError(f"{found.problem}: no room for its answers at {found.shape}", "give fewer --bytes")
        with torch.no_grad():
            given = outputs(run(*case.inputs))
            honest = case.compare(given, _right)
            if honest is None:
                found.rejected.append(kind)
            else:
                found.ulp[kind], found.budget_ulp[kind] = max(c.ulps for c in honest), max(c.budget_ulp for c in honest)
            for disguise in DISGUISES if found.products else DISGUISES[1:]:
                if disguise in found.impossible:
                    continue
                try:
                    others = disguised(torch, run, case.inputs, disguise)
                except (RuntimeError, TypeError, ValueError) as err:
                    found.impossible[disguise] = str(err).splitlines()[0][:120]
                    continue
                if all(torch.equal(a, b) for a, b in zip(others, given, strict=True)):
                    found.same.setdefault(disguise, []).append(kind)
                elif case.compare(others, _right) is None:
                    found.seen.setdefault(disguise, []).append(kind)


def _right(number: int, expected: Expected, got: Array) -> bool:
    return within(got, expected)


def outputs(results: Sequence[Any]) -> list[Any]:
    import torch

    wide = [y.to(torch.uint8) if y.dtype == torch.bool else y for y in results]
    return [y if y.dim() else y.reshape(1) for y in wide]  # as their buffers are


def disguised(torch: Any, run: OnDevice, inputs: Sequence[Any], disguise: str) -> list[Any]:
    """What the graph gives so, in the types in which it owes its outputs."""
    if disguise == "tf32":
        return outputs(replace(run, precision="tf32")(*inputs))
    dtype = getattr(torch, disguise)
    narrow = [x.to(dtype) if x.dtype == torch.float32 else x for x in inputs]
    wanted = [getattr(torch, o.type.dtype) for o in run.graph.outputs]
    return outputs([y.to(t) for y, t in zip(run(*narrow), wanted, strict=True)])


def try_problem(importer: Importer, problem: Problem, options: argparse.Namespace) -> Outcome:
    found = Outcome(problem.name)
    began = time.monotonic()
    try:
        record = imported(importer, problem, options.records)
        found.import_s = time.monotonic() - began
        if options.import_only:
            return found
        began = time.monotonic()
        judged(found, module_task(record).on(options.device), options.bytes)
        found.judge_s = time.monotonic() - began
    except KlabError as err:
        found.refused = str(err)
    except Exception as err:  # noqa: BLE001  a fault of ours is a line of the table, and the rest goes on
        found.refused = f"FAULT {type(err).__name__}: {str(err)[:200]}"
    return found


def imported(importer: Importer, problem: Problem, records: Path | None) -> ModuleRecord:
    kept = records and records / problem.name / "record.json"
    if kept and kept.is_file():
        return read_module_record(str(kept))
    record = importer.import_problem(problem, Wishes(eval_mode=True))
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(record.text())
    return record


def line(o: Outcome) -> str:
    if o.refused:
        return f"{o.problem:46.46} REFUSED {o.refused[:200]}"
    if o.rejected and not o.ulp:
        return f"{o.problem:46.46} REJECTED on {o.rejected}"
    if not o.ulp:
        return f"{o.problem:46.46} imported in {o.import_s:.1f} s"
    worst = max(o.ulp, key=lambda k: o.ulp[k] / o.budget_ulp[k] if o.budget_ulp[k] else 0.0)
    seen = " ".join(f"{d} {len(o.seen.get(d, []))}/{o.distributions}" for d in DISGUISES if o.products or d != "tf32")
    wrong = f"  REJECTED on {','.join(o.rejected)}" if o.rejected else ""
    return (f"{o.problem:46.46} {o.shape:30.30} {o.judge_s:5.1f} s  honest {o.ulp[worst]:7.2f} of {o.budget_ulp[worst]:7.2f} "
            f"({worst})  {seen}{wrong} {o.impossible or ''}")  # fmt: skip


def totals(found: list[Outcome]) -> str:
    ready = [o for o in found if not o.refused]
    lines = [f"{len(ready)} of {len(found)} judged; refused {[o.problem for o in found if o.refused]}",
             f"honest float32 passes {sum(not o.rejected for o in ready)} of {len(ready)}; "
             f"rejected {[(o.problem, o.rejected) for o in ready if o.rejected]}"]  # fmt: skip
    for disguise in DISGUISES:
        tried = [o for o in ready if disguise not in o.impossible and (o.products or disguise != "tf32")]
        other = [o for o in tried if len(o.same.get(disguise, [])) < o.distributions]
        hidden = [o.problem for o in other if not o.seen.get(disguise)]
        lines.append(f"{disguise}: seen in {len(other) - len(hidden)} of {len(other)}; not seen {hidden}; "
                     f"the same bits as float32 {[o.problem for o in tried if o not in other]}; "
                     f"does not run {[o.problem for o in ready if disguise in o.impossible]}")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", type=Path, required=True, action="append")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--bytes", type=float, default=2e8)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1e9, help="no problem is begun after this")
    parser.add_argument("--records", type=Path, help="imported problems are kept here, and read from here")
    parser.add_argument("--import-only", action="store_true", help="fill --records and judge nothing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    problems = [p for path in options.path for p in all_problems(str(path))
                if not options.only or p.name.startswith(tuple(options.only))]  # fmt: skip
    context = multiprocessing.get_context("spawn")
    waiting, done = context.Queue(), context.Queue()
    for each in [*problems, *[None] * options.workers]:
        waiting.put(each)
    cores = sorted(os.sched_getaffinity(0))
    shares = [cores[n :: options.workers] or cores for n in range(options.workers)]
    hands = [context.Process(target=_work, args=(options, share, waiting, done)) for share in shares]
    for hand in hands:
        hand.start()
    found = []
    for _ in problems:
        found.append(done.get())
        print(line(found[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(o) for o in found], indent=1))
    for hand in hands:
        hand.join()
    print(totals([o for o in found if o.refused != "no time"]))


def _work(options: argparse.Namespace, cores: list[int], waiting: Any, done: Any) -> None:
    os.sched_setaffinity(0, cores)  # torch takes as many threads as it sees
    began = time.monotonic()
    with Importer([str(path) for path in options.path]) as importer:
        while (problem := waiting.get()) is not None:
            late = time.monotonic() - began > options.seconds
            done.put(Outcome(problem.name, "no time") if late else try_problem(importer, problem, options))


if __name__ == "__main__":
    main()
