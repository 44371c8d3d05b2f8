"""`klab run`: search with recipes, or with a scientist; and what every command that runs something shows at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab.cli import pages
from kernellab.cli.display import make_display, results_table
from kernellab.cli.event_lines import EventLines
from kernellab.cli.options import (
    WAIT_S,
    Backward,
    Compiler,
    Contract,
    Device,
    Dtype,
    Effort,
    EvalMode,
    Events,
    Json,
    Out,
    SandboxTier,
    Shape,
    Target,
    Threads,
    Track,
    Wait,
)
from kernellab.cli.scientist import forecast as show_forecast
from kernellab.cli.scientist import spent
from kernellab.cli.screen import Screen
from kernellab.core.events import Listener
from kernellab.search.proposers.registry import names
from kernellab.track.listener import tracked

_out = Screen()
_PROPOSER = f"Who says what to try next: {', '.join(names())} (replay:RUN tries a recorded run's ideas)."
_MODEL = "openai:NAME[@URL], anthropic:NAME or replay:RUN: a model that writes kernels."


def watch(as_json: bool, action: Callable[[Listener], Any], track: str | None = None, events: bool = False) -> Any:
    """Run an action under a display, or in silence for --json; `track`: with a tracker beside it; `events`: told to
    programs as they happen."""
    display = EventLines(sys.stderr) if events else make_display(_out, quiet=as_json)
    listener = tracked(track, display)
    with display, listener:
        return action(listener)


def finish(outcome: Any, as_json: bool) -> None:
    """The figures, or the JSON object, and the exit code that they mean."""
    if as_json:
        pages.print_json(outcome.data())
    else:
        _out.print()
        _out.print(results_table(outcome.results, _out.width >= 130))
        for result in outcome.results:
            if result.status != "better":
                _out.print(result.reason, markup=False, soft_wrap=True)
        pages.profiles(_out, outcome.extras.get("profiles", []))
        spent(_out, outcome.extras.get("model"))
        _out.print(
            f"\nledger root {outcome.ledger_root}\nrun folder  {outcome.folder}   (klab show, klab audit, klab replay)",
            markup=False,
            soft_wrap=True,
        )
    raise typer.Exit(outcome.exit_code)


def run(
    task: Annotated[str, typer.Argument(help="A built-in task, a task file, or a PyTorch module as FILE.py:Class.")],
    shape: Shape = None,
    dtype: Dtype = None,
    effort: Effort = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials a shape (default: 24 quick, 80 standard, 240 full).")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds for all shapes together.")] = None,
    threads: Threads = None,
    seed: Annotated[int | None, typer.Option(help="Steers the search, never the judge's inputs.")] = None,
    proposer: Annotated[str | None, typer.Option(help=_PROPOSER)] = None,
    sampler: Annotated[
        str | None, typer.Option(help="gp (our Gaussian process), tpe (needs kernellab[optuna]), random or exhaustive.")
    ] = None,
    gpu_seconds: Annotated[float | None, typer.Option(help="GPU time for the whole run.")] = None,
    vram_gb: Annotated[float | None, typer.Option(help="GPU memory for a candidate's buffers and scratch.")] = None,
    build_jobs: Annotated[int | None, typer.Option(help="Builds at a time (default on a GPU: every core).")] = None,
    eval_mode: EvalMode = False,
    backward: Backward = False,
    precision: Contract = None,
    candidate: Annotated[list[Path] | None, typer.Option(help="A candidate file of your own; may be repeated.")] = None,
    warm_start: Annotated[Path | None, typer.Option(help="A run folder to start from.")] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Say what bounds the best kernels.")] = False,
    model: Annotated[str | None, typer.Option(help=_MODEL)] = None,
    feedback: Annotated[str | None, typer.Option(help="full, or timing: the model learns times alone.")] = None,
    backend: Annotated[str | None, typer.Option(help="c, triton or cuda: what the model writes.")] = None,
    experiments: Annotated[int | None, typer.Option(help="Experiments written side by side (default 3).")] = None,
    tune: Annotated[int | None, typer.Option(help="Trials for each written kernel (default 6).")] = None,
    repairs: Annotated[int | None, typer.Option(help="Further attempts at one that fails (default 2).")] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Let the model look at its kernels before hardware does.")
    ] = False,
    pytorch: Annotated[Path | None, typer.Option(help="PyTorch code to translate (function or nn.Module).")] = None,
    templates: Annotated[Path | None, typer.Option(help="A folder with prompt templates of your own.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Dollars for the model.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Tokens for the model, both ways.")] = None,
    budget_calls: Annotated[int | None, typer.Option(help="Calls of the model, failed ones too.")] = None,
    budget_trials: Annotated[int | None, typer.Option(help="Trials for all shapes together.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Seconds for the model and the trials.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what the model would cost; ask nothing.")] = False,
    device: Device = None,
    compiler: Compiler = None,
    target: Target = None,
    sandbox: SandboxTier = None,
    wait: Wait = False,
    track: Track = None,
    out: Out = None,
    events: Events = False,
    as_json: Json = False,
) -> None:
    """Search for the fastest verified kernel of a task; with --model an AI scientist writes new ones."""
    from kernellab import api

    asked: dict[str, Any] = {
        "task": task,
        "dtype": dtype or "",
        "shapes": shape or (),
        "candidates": candidate or (),
        "pytorch": pytorch,
        "wishes": api.module_wishes(eval_mode, precision or "", backward),
        "templates": templates,
        "science": {
            "model": model, "feedback": feedback, "backend": backend, "experiments": experiments, "tune": tune,
            "repairs": repairs, "soft": soft or None, "budget_usd": budget_usd, "budget_tokens": budget_tokens,
            "budget_calls": budget_calls, "budget_trials": budget_trials, "budget_seconds": budget_seconds,
        },
        "effort": effort, "trials": trials, "seconds": seconds, "threads": threads, "seed": seed, "proposer": proposer,
        "sampler": sampler,
        "gpu_seconds": gpu_seconds, "vram_gb": vram_gb, "build_jobs": build_jobs, "device": device,
        "compiler": compiler, "target": target, "sandbox": sandbox,
        "wait_s": WAIT_S if wait else None,
    }  # fmt: skip
    if dry_run:
        forecast = api.forecast(**asked)
        pages.print_json(forecast.data()) if as_json else show_forecast(_out, forecast)
        return
    asked |= {"out": out, "warm_start": warm_start, "profile": profile}
    finish(watch(as_json, lambda listener: api.optimize(listener=listener, **asked), track, events), as_json)
