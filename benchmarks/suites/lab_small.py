"""Every task of our own suite at its small sizes, forward and backward: proved, and its generated C kernels judged.

    python benchmarks/suites/lab_small.py [--only gemm rms_norm]

A line for what is refused or does not pass, and the counts at the end. The inputs are those that the tasks are judged with.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.unit.lower.judged import processor
from tests.unit.tasks.lab_subjects import capturer, request
from tests.unit.tasks.test_lab import TASKS

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.errors import TaskRefused
from kernellab.lower.candidates import written
from kernellab.lower.site import NotLowered
from kernellab.propose.recipe import with_defaults
from kernellab.tasks.modules.importing import record_of
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.spec import Task
from kernellab.tasks.suites.base import Problem
from kernellab.verdict.cases import CaseTable, screen_cases, shapes_of
from kernellab.verdict.controls import examine
from kernellab.verdict.judge import Judge


def tried(opened: Any, device: Any, name: str, backward: bool) -> Iterator[tuple[str, str]]:
    """What came of the task, and of every text for it: a word, and why."""
    subject = TASKS[name]
    asked = request(subject, subject.small, backward)
    graph = opened.capture(asked)
    task = module_task(record_of(graph, Problem(asked, name)))
    try:
        examine(task)
        yield "proved", ""
        texts = written(graph, "c", task.tune[0])
    except TaskRefused as refused:
        yield "refused", refused.what
    except NotLowered as err:
        yield "not lowered", str(err)
    else:
        for text in texts:
            yield judged(device, task, Candidate(text.text, text.name))


def judged(device: Any, task: Task, candidate: Candidate) -> tuple[str, str]:
    cases = screen_cases(task)
    params = with_defaults(device.builder, candidate, None)
    built = device.builder.build(task, candidate, params, shapes_of(cases, cases[0].dims))
    if isinstance(built, NotBuilt):
        return f"C {built.status}", f"{candidate.name}: {built.reason}"
    with CaseTable(task, cases, os.urandom(32)) as table:
        verdict = Judge(device.rig.device).verify(built, table, "screen")
    return f"C {verdict.status}", f"{candidate.name}: {getattr(verdict, 'reason', '')}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    with capturer() as opened, processor() as device:
        for name, subject in TASKS.items():
            if options.only and not name.startswith(tuple(options.only)):
                continue
            for backward in (False, True) if subject.backward else (False,):
                for word, why in tried(opened, device, name, backward):
                    counts[word] += 1
                    if word not in ("proved", "C passed"):
                        print(f"{name}{' backward' if backward else ''}: {word} {why[:300]}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
