"""klab judge: somebody else's ModelNew against a problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from kernellab.cli.options import Contract, Effort, EvalMode, Json, SandboxTier, Threads, named
from kernellab.cli.pages import print_json
from kernellab.cli.screen import Screen, waiting
from kernellab.core.errors import EXIT_BUSY, EXIT_NOTHING_VERIFIED

if TYPE_CHECKING:
    from kernellab.evaluate.judge_solution import Judgement

_EXIT = {"passed": 0, "busy": EXIT_BUSY}


def judge(
    solution: Annotated[Path, typer.Argument(parser=named, metavar="SOLUTION", help="A file that defines ModelNew.")],
    problem: Annotated[str, typer.Option("--problem", help="FILE.py:Model, or a file of KernelBench's form.")],
    timed: Annotated[bool, typer.Option("--time", help="Time it against the problem's baselines, too.")] = False,
    effort: Effort = None,
    eval_mode: EvalMode = False,
    precision: Contract = None,
    threads: Threads = None,
    sandbox: SandboxTier = None,
    as_json: Json = False,
) -> None:
    """Judge somebody else's ModelNew on every shape and distribution of a problem, on the processor.

    Exit code 0 if it passes, 4 if it is rejected or cannot be made, 7 if it passes and the machine is too busy to time it.
    """
    from kernellab import api

    wishes = api.module_wishes(eval_mode, precision or "")
    with waiting("reading the problem, then judging the solution on it"):
        found = api.judge(
            solution, problem, timed=timed, wishes=wishes, effort=effort or "quick", threads=threads, sandbox=sandbox
        )
    if as_json:
        print_json(found.data())
    else:
        show(Screen(), found)
    raise typer.Exit(_EXIT.get(found.status, EXIT_NOTHING_VERIFIED))


def show(console: Console, found: Judgement) -> None:
    from kernellab.evaluate.judge_solution import NO_CLAIM

    def line(head: str, text: str) -> None:
        console.print(f"{head:10} {text}", markup=False, soft_wrap=True)

    verdict = found.verdict
    case = f" ({verdict.case})" if verdict is not None and verdict.status == "rejected" and verdict.case else ""
    line(found.status, f"{found.problem}{': ' + found.reason if found.reason else ''}{case}")
    if verdict is not None and verdict.status == "passed":
        repeatable = "every bit the same in a second pass" if verdict.deterministic else "not the same bits twice"
        line(
            "verdict",
            f"{verdict.cases} cases, at worst {verdict.max_ulp:.3g} of {verdict.budget_ulp:.3g} ULP allowed, {repeatable}",
        )
    for remark in found.remarks:
        line("remark", remark)
    if (timing := found.timing) is not None:
        interval = f"{timing.speedup_low:.3f} to {timing.speedup_high:.3f}"
        disturbed = "; disturbed, the figures may flatter" if timing.disturbed else ""
        line(
            "timing",
            f"{timing.latency_s * 1e6:.1f} us a call; {timing.speedup:.3f} x {timing.baseline} ({interval}){disturbed}",
        )
    line("trust", NO_CLAIM)
