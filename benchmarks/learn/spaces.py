"""Records what the generated kernels of many graphs come to: the spaces that a prior learns from and is examined on.

    python benchmarks/learn/spaces.py import formulas --sample 60 --seed 1 --out records [--device cuda] [--part 0/4]
    python benchmarks/learn/spaces.py record records/*.json --out runs [--device cuda] [--trials 96] [--seconds 400]

`import` captures problems of a suite at their sizes for the device and keeps their records. `record` tries the generated
candidates of each, first choices first, then at random, without repeats: an ordinary run a record, judged and timed as every
trial is and signed, against eager torch alone and without a confirmation; then pruned. A record whose run exists is left out.
"""

from __future__ import annotations

import argparse
import collections
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernellab.core.errors import KlabError
from kernellab.core.settings import Settings
from kernellab.evaluate.evaluator import LocalEvaluator
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger import kinds
from kernellab.ledger.records import End
from kernellab.propose.generated import generated_candidates
from kernellab.propose.recipe import load_recipes
from kernellab.search.ahead import Ahead
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import build, step
from kernellab.search.prune import prune
from kernellab.search.tune import make_tuner
from kernellab.targets.base import platform
from kernellab.tasks.load import load_task
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.suites.finding import find_suite, sample


def main() -> None:
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("--device", default="cuda")
    both.add_argument("--out", type=Path, required=True)
    both.add_argument("--seed", type=int, default=1)
    parser = argparse.ArgumentParser()
    todo = parser.add_subparsers(dest="todo", required=True)
    imports = todo.add_parser("import", parents=[both])
    imports.add_argument("suite")
    imports.add_argument("--tasks", default="")
    imports.add_argument("--sample", type=int, default=0)
    imports.add_argument("--part", default="0/1", help="every so many-th of them, from this one on")
    records = todo.add_parser("record", parents=[both])
    records.add_argument("records", type=Path, nargs="+")
    records.add_argument("--trials", type=int, default=96)
    records.add_argument("--seconds", type=float, default=0.0, help="no further record is begun after so many")
    options = parser.parse_args()
    if options.todo == "import":
        import_all(options)
    else:
        record_all(options)


def import_all(options: argparse.Namespace) -> None:
    suite = find_suite(options.suite, "", options.tasks)
    suite = sample(suite, options.sample, options.seed) if options.sample else suite
    first, step_ = map(int, options.part.split("/"))
    with Importer([]) as importer:
        for problem in list(suite.problems)[first::step_]:
            if options.device != "cpu" and problem.on_accelerator is not None:
                problem = replace(problem, request=problem.on_accelerator)
            try:
                print(write_record(importer.import_problem(problem), options.out), flush=True)
            except KlabError as fault:
                print(f"{problem.name}: {fault.what}", flush=True)


def record_all(options: argparse.Namespace) -> None:
    settings = Settings(
        effort="quick", device=options.device, sampler="random", trials=options.trials, seed=options.seed
    )
    began = time.monotonic()
    evaluator = LocalEvaluator(settings)
    try:
        for path in options.records:
            if options.seconds and time.monotonic() - began > options.seconds:
                print("the time is over", flush=True)
                break
            folder = options.out / path.stem
            if folder.exists():
                continue
            started = time.monotonic()
            try:
                counts = record_one(evaluator, settings, str(path), folder)
            except KlabError as fault:
                print(f"{path.stem}: {fault.what}", flush=True)
                continue
            print(f"{path.stem}: {dict(counts)} in {time.monotonic() - started:.1f} s", flush=True)
    finally:
        evaluator.close()


def record_one(evaluator: LocalEvaluator, settings: Settings, record: str, folder: Path) -> collections.Counter[str]:
    task = load_task(record).on(settings.device)
    candidates = list(generated_candidates(task, settings.device).candidates)
    compiled = not platform(
        settings.device
    ).accelerator  # a processor has eager torch alone; elsewhere compiling takes long
    opened = OpenTask(settings, task, record, torch=compiled, evaluator=evaluator)
    dims = task.tune[0]
    recipes, _ = load_recipes(opened.builder, candidates)
    counts: collections.Counter[str] = collections.Counter()
    with ExperimentRun.start(opened, folder, [dims], candidates, "search") as run:
        stage = run.stage(dims)
        try:
            tuner = make_tuner(recipes, "random", settings.seed)
            with Ahead(tuner, partial(build, run, stage), opened.device.build_jobs) as ahead:
                for done in range(settings.trials):
                    found = ahead.next(settings.trials - done)
                    if found is None:
                        break
                    trial = step(run, stage, found[0])
                    tuner.tell([run.outcome(trial, found[0])])
                    counts[trial.status] += 1
        finally:
            stage.close()
        run.append(kinds.END, End(results=[]))
    prune(folder)
    return counts


if __name__ == "__main__":
    main()
