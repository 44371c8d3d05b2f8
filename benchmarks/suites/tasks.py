"""Every problem of a suite folder, at reduced sizes, imported as a task that proves its judge; or the reason why not.

    python benchmarks/suites/tasks.py --path DIR/kernelbench/level1 [--only 12_ 40_] [--json out.json]

For each problem one line. At the end how many prove their judge and how many are refused, with the median time of one, the
start of the capture process aside. The module's own code runs here once to find sizes that are small; use it on suites that
you trust.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import torch
from trial import small

from kernellab.core.errors import TaskRefused
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.wishes import Wishes
from kernellab.tasks.suites import all_problems
from kernellab.tasks.suites.base import Problem
from kernellab.verdict.controls import examine


@dataclass
class Outcome:
    problem: str
    refused: str = ""
    free_sizes: int = 0
    distributions: int = 0
    controls: int = 0
    remarks: tuple[str, ...] = ()
    import_s: float = 0.0
    prove_s: float = 0.0


def try_problem(importer: Importer, problem: Problem) -> Outcome:
    try:
        request = replace(problem.request, eval_mode=True)
        cut, _ = small(request, Path(problem.request.file).read_text(), full=False)
        start = time.monotonic()
        record = importer.import_problem(replace(problem, request=cut), Wishes(eval_mode=True))
        imported = time.monotonic()
        task = module_task(record)
        proof = examine(task)
    except TaskRefused as err:
        return Outcome(problem.name, err.what)
    return Outcome(
        problem.name, "", len(record.graph.symbols), len(task.distributions), proof.controls, proof.remarks,
        imported - start, time.monotonic() - imported,
    )  # fmt: skip


def line(o: Outcome) -> str:
    if o.refused:
        return f"{o.problem:50.50} REFUSED {o.refused}"
    seconds = f"import {o.import_s:.1f} s, proof {o.prove_s:.1f} s"
    return f"{o.problem:50.50} proved, {o.free_sizes} free sizes, {o.distributions} distributions, {seconds} {'; '.join(o.remarks)}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = []
    with Importer([str(options.path)]) as importer:
        for problem in all_problems(str(options.path)):
            if not options.only or problem.name.startswith(tuple(options.only)):
                found.append(try_problem(importer, problem))
                print(line(found[-1]), flush=True)
    proved = [o for o in found if not o.refused]
    print(
        f"{len(proved)} of {len(found)} prove their judge; refused: {[(o.problem, o.refused) for o in found if o.refused]}"
    )
    print(f"precision cannot be judged: {[o.problem for o in proved if any('precision' in r for r in o.remarks)]}")
    print(f"import and proof: median {median([o.import_s + o.prove_s for o in proved] or [0.0]):.1f} s")
    if options.json:
        options.json.write_text(json.dumps([asdict(o) for o in found], indent=1))


if __name__ == "__main__":
    main()
