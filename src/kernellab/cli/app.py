"""The command line: klab doctor | tasks | init | demo | check | judge | run | build | verify | bench | show | runs | view |
audit | anchor | prove | results | replay | resume | suite."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab import __version__
from kernellab.cli import pages
from kernellab.cli.analyse import analyse
from kernellab.cli.anchor import anchor
from kernellab.cli.audit import audit
from kernellab.cli.build import build
from kernellab.cli.certify import register as register_certificates
from kernellab.cli.check import check
from kernellab.cli.commands import Commands
from kernellab.cli.dataset import dataset
from kernellab.cli.display import begun
from kernellab.cli.exec import execute
from kernellab.cli.judge import judge
from kernellab.cli.learn import learn
from kernellab.cli.learn import model as model_
from kernellab.cli.mcp import mcp
from kernellab.cli.options import (
    WAIT_S,
    CandidateFile,
    Compiler,
    Contract,
    Device,
    Dtype,
    Effort,
    EvalMode,
    Events,
    ForTask,
    Json,
    OneShape,
    Out,
    Parameter,
    SandboxTier,
    Threads,
    Track,
    Wait,
    named,
)
from kernellab.cli.paper import paper
from kernellab.cli.prove import prove
from kernellab.cli.prune import prune
from kernellab.cli.results import results
from kernellab.cli.reward import reward
from kernellab.cli.run import finish, run, watch
from kernellab.cli.runs import runs
from kernellab.cli.screen import Screen
from kernellab.cli.setup_agent import setup_agent
from kernellab.cli.show import show
from kernellab.cli.study import is_study, study
from kernellab.cli.study import resume as resume_study
from kernellab.cli.suite import resume as resume_suite
from kernellab.cli.suite import suite
from kernellab.cli.table import audit_table
from kernellab.cli.template import render
from kernellab.cli.tools import best, compile_, explain, generate, select
from kernellab.cli.tune_verifier import is_tuning, resume_verifier, tune_verifier
from kernellab.cli.view import view
from kernellab.core.errors import (
    EXIT_ENVIRONMENT,
    EXIT_NOTHING_BETTER,
    EXIT_NOTHING_VERIFIED,
    EXIT_USAGE,
    KlabError,
    UsageError,
)
from kernellab.core.files import reason, remedy, write_file
from kernellab.core.settings import Settings, load_settings

app = Commands(
    name="klab",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 140},
    help="KernelLab: proposes, builds, judges, measures and records compute kernels.",
)
_out = Screen()
_err = Screen(stderr=True)
_RECORDING = ("run", "verify", "bench", "resume", "demo", "study run", "suite run", "tune-verifier")


def main() -> None:
    """Run the command line; every foreseen failure becomes a message with a fix and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = app(standalone_mode=False)  # typer gives an Exit's code back, and 130 for Ctrl-C
    except KlabError as fault:
        code = _fail(fault.what, fault.fix, fault.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except MemoryError as err:
        code = _fail(f"this machine has too little memory: {err}", "choose a smaller shape", EXIT_ENVIRONMENT)
    except OSError as err:
        place = Path(err.filename) if isinstance(err.filename, str) else Path()
        fix = remedy(err, "check rights and free space")
        where = f": {err.filename}" if err.filename else ""
        code = _fail(f"{reason(place, err)}{where}", fix, EXIT_ENVIRONMENT)
    except Exception as err:  # the outermost boundary: typer's usage errors carry a message and a code
        if getattr(err, "exit_code", None) is None:
            raise
        code = _misused(err.format_message() if hasattr(err, "format_message") else str(err))
    if code == 130:
        code = _interrupted(sys.argv[1:])
    sys.exit(code if isinstance(code, int) else 0)


def _interrupted(arguments: list[str]) -> int:
    """A resume command is printed only where a run was begun: it names that run."""
    command = " ".join(arguments[: 2 if arguments[:1] in (["study"], ["suite"]) else 1])
    recording = command in _RECORDING or (command == "analyse" and "--follow-up" in arguments)
    if recording and (begun or (command == "resume" and arguments[1:])):
        run = begun[-1] if begun else arguments[1]
        return _fail("interrupted; every finished trial is recorded", f"'klab resume {run}' goes on from there", 130)
    return _fail("interrupted", "start it again", 130)


def _misused(message: str) -> int:
    """Typer's usage errors. Where no command is named, the message is the help: it is shown as it is."""
    if message.startswith("Usage: "):
        _err.print(message, markup=False, soft_wrap=True)
        return EXIT_USAGE
    return _fail(message, "'klab COMMAND --help' lists the options", EXIT_USAGE)


def _fail(what: str, fix: str, code: int) -> int:
    _err.print(f"klab: {what}", style="red", markup=False, soft_wrap=True)
    if fix:
        _err.print(f"fix:  {fix}", markup=False, soft_wrap=True)
    if "--json" in sys.argv:
        pages.print_json({"status": "error", "reason": what, "fix": fix, "exit_code": code})
    return code


def _settings(**flags: Any) -> Settings:
    return load_settings(flags)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        _out.print(f"kernellab {__version__}")
        raise typer.Exit


app.command()(run)
app.command()(check)
app.command()(judge)
app.command()(build)


@app.command()
def verify(
    file: CandidateFile,
    task: ForTask,
    shape: OneShape = None,
    dtype: Dtype = None,
    param: Parameter = None,
    eval_mode: EvalMode = False,
    precision: Contract = None,
    threads: Threads = None,
    effort: Effort = None,
    device: Device = None,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
    sanitize: Annotated[bool, typer.Option("--sanitize", help="compute-sanitizer too; a finding rejects.")] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Judge one candidate in seconds: every case, held-out shapes too. Nothing is timed. Exit code 0: passed, 4: not."""
    from kernellab import api

    outcome = watch(
        as_json,
        lambda listener: api.verify(
            file,
            task,
            dtype=dtype or "",
            shape=shape,
            params=pages.parse_params(param),
            wishes=api.module_wishes(eval_mode, precision or ""),
            out=out,
            sanitize=sanitize,
            listener=listener,
            threads=threads,
            effort=effort or "quick",
            device=device,
            compiler=compiler,
            sandbox=sandbox,
        ),
    )
    passed = outcome.status != "nothing-verified"
    if as_json:
        pages.print_json({**outcome.data(), "status": "passed" if passed else "rejected"})
    else:
        pages.verdict(_out, outcome)
    raise typer.Exit(0 if passed else EXIT_NOTHING_VERIFIED)


@app.command()
def bench(
    file: CandidateFile,
    task: ForTask,
    shape: OneShape = None,
    dtype: Dtype = None,
    param: Parameter = None,
    eval_mode: EvalMode = False,
    precision: Contract = None,
    threads: Threads = None,
    effort: Effort = None,
    device: Device = None,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
    wait: Wait = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Judge and measure one candidate against the fastest baseline."""
    from kernellab import api

    finish(
        watch(
            as_json,
            lambda listener: api.measure(
                file,
                task,
                dtype=dtype or "",
                shape=shape,
                params=pages.parse_params(param),
                wishes=api.module_wishes(eval_mode, precision or ""),
                out=out,
                listener=listener,
                threads=threads,
                effort=effort,
                device=device,
                compiler=compiler,
                sandbox=sandbox,
                wait_s=WAIT_S if wait else None,
            ),
        ),
        as_json,
    )


@app.command()
def resume(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    more: Annotated[int, typer.Option(min=0, help="So many further trials a shape.")] = 0,
    track: Track = None,
    events: Events = False,
    as_json: Json = False,
) -> None:
    """Continue a run after a crash, a kill or Ctrl-C."""
    from kernellab.learn.terms import is_reward
    from kernellab.ledger.check import require_sound
    from kernellab.search.runs import resume_run
    from kernellab.suite.folder import is_suite

    require_sound(pages.existing(run_folder))
    if is_reward(run_folder):
        raise UsageError(f"{run_folder} holds rewards", f"'klab reward ... --out {run_folder}' goes on with them")
    if is_suite(run_folder):
        if more:
            raise UsageError("--more is for a single run", f"'klab resume {run_folder}' goes on with the suite")
        resume_suite(run_folder, as_json, track, events)
    if is_study(run_folder):
        resume_study(run_folder, as_json, track, events)
    if is_tuning(run_folder):
        if track or events:
            raise UsageError("--track and --events are for runs, studies and suites", "leave them out")
        resume_verifier(run_folder, as_json)
    finish(watch(as_json, lambda listener: resume_run(run_folder, listener, more), track, events), as_json)


app.command()(audit)
app.command()(anchor)
app.command()(prove)
app.command()(results)
app.command()(paper)
app.command("audit-table")(audit_table)
app.command()(prune)
app.command()(tune_verifier)
app.command()(generate)
app.command("compile")(compile_)
app.command()(select)
app.command()(best)
app.command()(explain)
app.command()(mcp)
app.command("setup-agent")(setup_agent)
app.command("exec")(execute)
app.command()(reward)
app.command()(dataset)
app.add_typer(learn, name="learn")
app.add_typer(model_, name="model")
app.add_typer(study, name="study")
app.add_typer(suite, name="suite")
app.command()(analyse)
register_certificates(app)


@app.command()
def replay(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN")],
    trial: Annotated[int, typer.Argument(help="The trial's number.")],
    as_json: Json = False,
) -> None:
    """Rebuild and re-judge a trial from its record alone."""
    from kernellab.search.replay import replay_trial

    row = watch(as_json, lambda listener: replay_trial(pages.existing(run_folder), trial, listener))
    if as_json:
        from kernellab.ledger.check import check

        pages.print_json({**row, "ledger_root": check(run_folder).root})
    else:
        pages.replayed(_out, row)
    raise typer.Exit(0 if row["agrees"] else EXIT_NOTHING_BETTER)


app.command()(show)
app.command()(runs)
app.command()(view)


@app.command()
def tasks(
    suite: Annotated[str, typer.Option("--suite", help="The tasks of a suite, as lab.")] = "",
    path: Annotated[
        Path | None, typer.Option("--path", parser=named, metavar="DIR", help="The problems of a folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The built-in tasks; of a suite or a folder, its problems."""
    if suite or path is not None:
        pages.suite_tasks(_out, suite, str(path or ""), as_json)
    else:
        pages.tasks(_out, as_json)


@app.command()
def init(
    name: Annotated[str, typer.Argument(help="The name of your task.")],
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a commented task file of your own that runs as it is."""
    stem = name.removesuffix(".py")
    if not Path(stem).name.isidentifier():
        raise UsageError(f"'{name}' cannot name a task", "use letters, digits and '_', starting with a letter")
    path = Path(stem + ".py")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", "choose another name, or --force to overwrite it")
    write_file(path, render(Path(stem).name, str(path)))
    if as_json:
        pages.print_json({"status": "written", "file": str(path)})
    else:
        _out.print(f"wrote {path}; run it with: klab run {path} --effort quick")


@app.command()
def doctor(
    gauntlet: Annotated[bool, typer.Option("--gauntlet", help="Run the cheating and honest kernels.")] = False,
    cheats: Annotated[list[Path] | None, typer.Option(help="A further folder of cheats; may be repeated.")] = None,
    honest: Annotated[
        list[Path] | None, typer.Option(help="A further folder of honest kernels; may be repeated.")
    ] = None,
    only: Annotated[bool, typer.Option("--only-given", help="Leave the shipped gauntlet out.")] = False,
    sample: Annotated[int, typer.Option(min=0, help="So many files by chance, of every kind and device; 0: all.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Draws the same sample again.")] = None,
    sandbox: SandboxTier = None,
    compiler: Compiler = None,
    as_json: Json = False,
) -> None:
    """Check this machine: compiler, sandbox tiers, a self-attack; with --gauntlet, the judge too."""
    settings = _settings(sandbox=sandbox, compiler=compiler)
    if gauntlet or cheats or honest or sample:
        from kernellab.cli.gauntlet import Choice
        from kernellab.cli.gauntlet import gauntlet as run_gauntlet

        choice = Choice(cheats or [], honest or [], not only, sample, seed)
        good = run_gauntlet(_out, _err, settings, choice, as_json)
    else:
        good = pages.doctor(_out, settings, as_json)
    raise typer.Exit(0 if good else EXIT_ENVIRONMENT)


@app.command()
def demo(out: Out = None, as_json: Json = False) -> None:
    """Two minutes of the laboratory: three operators searched, a cheat caught, the ledger audited."""
    from kernellab.cli.demo import run_demo

    raise typer.Exit(run_demo(_out, out, as_json))


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "120")
    main()
