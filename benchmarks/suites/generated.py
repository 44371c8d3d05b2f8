"""Every C kernel that is generated for the problems of a suite folder, at reduced sizes, judged at its edge shapes.

    python benchmarks/suites/generated.py --path DIR/kernelbench/level1 [--form tile] [--only 12_ 40_]

One line for each text that does not pass, and the counts at the end. The module's own code runs here once to find sizes that
are small; use it on suites that you trust.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from trial import small

from kernellab.build.base import Candidate
from kernellab.core.errors import TaskRefused
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.lower.candidates import written
from kernellab.lower.site import NotLowered
from kernellab.propose.recipe import with_defaults
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.wishes import Wishes
from kernellab.tasks.suites import all_problems
from kernellab.tasks.suites.base import Problem


def tried(importer: Importer, problem: Problem, form: str) -> Iterator[tuple[str, str, str]]:
    """Form, outcome and reason of every text."""
    try:
        request = replace(problem.request, eval_mode=True)
        cut, _ = small(request, Path(problem.request.file).read_text(), full=False)
        record = importer.import_problem(replace(problem, request=cut), Wishes(eval_mode=True))
        task = module_task(record)
        texts = [w for w in written(record.graph, "c", task.tune[0]) if w.name.startswith(form)]
    except (TaskRefused, NotLowered) as err:
        yield "no task", "refused", str(err)
        return
    settings = Settings(effort="quick", device="cpu")
    with OpenTask(settings, task, write_record(record), torch=False) as opened:
        for text in texts:
            candidate = Candidate(text.text, text.name)
            asked = opened.request(task.edge[0], candidate, with_defaults(opened.builder, candidate))
            found = opened.evaluate(asked)
            yield text.name.partition("_")[0], found.status, found.reason


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", required=True)
    parser.add_argument("--form", default="")
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    counts: Counter[str] = Counter()
    with Importer([args.path]) as importer:
        for problem in all_problems(args.path):
            if args.only and not problem.name.startswith(tuple(args.only)):
                continue
            for form, outcome, reason in tried(importer, problem, args.form):
                counts[f"{form} {outcome}"] += 1
                if outcome != "passed":
                    print(f"{problem.name}: {form} {outcome}: {reason[:300]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
