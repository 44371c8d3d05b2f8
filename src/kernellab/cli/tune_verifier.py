"""klab tune-verifier: improve a soft verifier's prompt on labelled trials, or say how good a run's verifiers were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError
from rich.table import Table

from kernellab.cli.options import Json, Out
from kernellab.cli.pages import existing, print_json
from kernellab.cli.screen import Screen
from kernellab.core.errors import EXIT_ENVIRONMENT, EXIT_NOTHING_BETTER, UsageError

if TYPE_CHECKING:
    from kernellab.propose.models import Budget
    from kernellab.search.soft.labelled import LabelledSet
    from kernellab.search.soft.tuning import TuneOrder
    from kernellab.search.soft.tuning_run import Access, Finished

_out = Screen()
_EXIT = {"better": 0, "nothing-better": EXIT_NOTHING_BETTER, "stopped": EXIT_ENVIRONMENT}


def tune_verifier(
    labelled: Annotated[Path | None, typer.Argument(help="A folder of labelled trials, or a run folder.")] = None,
    model: Annotated[str, typer.Option(help="openai:NAME[@URL], anthropic:NAME or replay:RUN.")] = "",
    kind: Annotated[str, typer.Option(help="soft_compile, soft_memory or soft_numerics.")] = "soft_numerics",
    rounds: Annotated[int, typer.Option(help="How often the prompt is written anew.")] = 3,
    most: Annotated[int, typer.Option(help="Trials a half (0: all).")] = 80,
    seed: Annotated[int, typer.Option(help="Steers the split and which mistakes are shown.")] = 0,
    jobs: Annotated[int, typer.Option(help="Calls in flight.")] = 4,
    templates: Annotated[Path | None, typer.Option(help="A folder of templates to start from.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Dollars, failed calls included.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Tokens in and out.")] = None,
    budget_calls: Annotated[int | None, typer.Option(help="Calls, failed ones included.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Seconds of this part of the run.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a tuning that was cut or ran out of budget.")] = None,
    report: Annotated[Path | None, typer.Option(help="Say how good the verifiers of a run (or a tuning) are.")] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Improve a soft verifier's prompt; a new one is kept only if it is better on trials it was not shown."""
    if sum(given is not None for given in (labelled, resume, report)) != 1:
        raise UsageError("tune-verifier takes labelled trials, --resume RUN or --report RUN: one of them",
                         "klab tune-verifier runs/labelled --model openai:NAME --kind soft_numerics")  # fmt: skip
    if report is not None:
        _report(existing(report), as_json)
        return
    from kernellab.propose.models import Budget

    budget = Budget(budget_usd, budget_tokens, budget_calls, budget_seconds)
    if resume is not None:
        data = _resumed(existing(resume), model, budget, as_json)
    else:
        assert labelled is not None
        asked = {"kind": kind, "rounds": rounds, "most": most, "seed": seed, "jobs": jobs}
        data = _started(labelled, model, asked, templates, budget, out, as_json)
    _finish(data, as_json)


def resume_verifier(folder: Path, as_json: bool) -> None:
    """`klab resume` of a tuning: with the model and without the limits that it had."""
    from kernellab.propose.models import Budget

    _finish(_resumed(folder, "", Budget(), as_json), as_json)


def is_tuning(folder: Path) -> bool:
    from kernellab.search.soft.tuning_run import is_tuning as found

    return found(folder)


def _finish(data: dict[str, Any], as_json: bool) -> None:
    print_json(data) if as_json else _show_tuning(data)
    raise typer.Exit(_EXIT[data["status"]])


def _started(
    labelled: Path, model: str, asked: dict[str, Any], templates: Path | None, budget: Budget, out: Path | None,
    as_json: bool,
) -> dict[str, Any]:  # fmt: skip
    from kernellab.search.outcome import default_folder
    from kernellab.search.soft.tuning_run import start_tuning

    if not model:
        raise UsageError("which model is to be asked?", "give --model, as openai:NAME@URL")
    with _access(model, budget, as_json) as access:
        order = _order(asked, model, access.name)
        folder = out or default_folder(order.kind)
        finished = start_tuning(folder, _labelled(labelled), order, access, templates)
    return _data(finished)


def _resumed(folder: Path, model: str, budget: Budget, as_json: bool) -> dict[str, Any]:
    from kernellab.search.soft.tuning_run import read_tuning, resume_tuning

    order, _, _ = read_tuning(folder)
    with _access(model or order.model, budget, as_json) as access:
        return _data(resume_tuning(folder, access))


def _data(finished: Finished) -> dict[str, Any]:
    fix = f"klab tune-verifier --resume {finished.folder}" if finished.tuned.stopped else ""
    return {**finished.data(), "fix": f"{finished.tuned.fix}; then: {fix}" if fix else ""}


def _order(asked: dict[str, Any], model: str, name: str) -> TuneOrder:
    from kernellab.search.soft.tuning import TuneOrder

    try:
        return TuneOrder(model=model, name=name, **asked)
    except ValidationError as err:
        first = err.errors()[0]
        option = str(first["loc"][0])
        raise UsageError(f"--{option} {asked.get(option)!r}: {first['msg']}", "'klab tune-verifier --help'") from None


def _labelled(folder: Path) -> LabelledSet:
    from kernellab.ledger.entry import LEDGER_FILE
    from kernellab.search.soft.history import labelled_of_run
    from kernellab.search.soft.labelled import read_labelled

    return labelled_of_run(folder) if (folder / LEDGER_FILE).exists() else read_labelled(folder)


@contextmanager
def _access(locator: str, budget: Budget, quiet: bool) -> Iterator[Access]:
    from kernellab.propose.models import load_prices, open_model
    from kernellab.propose.models.client import SdkClient
    from kernellab.search.soft.tuning_run import Access

    opened = open_model(locator)
    with opened if isinstance(opened, SdkClient) else nullcontext():
        yield Access(opened, opened.name, load_prices(), budget, tell=(lambda text: None) if quiet else _say)


def _say(text: str) -> None:
    _out.print(text, markup=False, soft_wrap=True)


def _show_tuning(data: dict[str, Any]) -> None:
    table = Table(show_edge=False, pad_edge=False)
    for name in ("half", "", "balanced accuracy", "recall", "right ones let pass"):
        table.add_column(name)
    for half in ("train", "test"):
        for when in ("before", "after"):
            found = data[when].get(half)
            if found:
                rates = (_rate(found["recall"]), _rate(found["specificity"]))
                table.add_row(half, when, f"{found['balanced_accuracy']:.3f}", *rates)
    _out.print()
    _out.print(table)
    kept = [r["number"] for r in data["rounds"] if r["kept"]]
    words = {"better": f"better: kept the template of round {kept[-1] if kept else 0}",
             "nothing-better": "no template was better on both halves: the old one stays",
             "stopped": f"stopped: {data['reason']}"}  # fmt: skip
    _say(f"\n{words[data['status']]}")
    if data.get("fix"):
        _say(f"fix:  {data['fix']}")
    spent = data["spent"]
    _say(f"{spent['calls']} calls ({spent['failed']} failed), {spent['tokens_in'] + spent['tokens_out']:,} tokens")
    _say(f"templates   {data['templates']}   (use it with --templates)\nrun folder  {data['run']}")


def _rate(found: dict[str, Any] | None) -> str:
    return "-" if found is None else f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}] of {found['n']}"


def _report(folder: Path, as_json: bool) -> None:
    from kernellab.search.soft.history import report
    from kernellab.search.soft.tuning_run import figures_of

    if is_tuning(folder):
        data = figures_of(folder)
        print_json(data) if as_json else _show_tuning(data)
        return
    data = report(folder).model_dump(mode="json")
    print_json({"status": "ok", "run": str(folder), **data}) if as_json else _out.print(score_table(data))
    if not as_json:
        _say(score_lines(data))


def score_table(data: dict[str, Any]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for name in ("verifier", "precision", "recall", "false skips", "opinions"):
        table.add_column(name)
    for name, found in (*data["kinds"].items(), ("together", data["combined"])):
        silent = found["unreadable"] + found["silent"]
        said = f"{found['said']}" + (f" ({silent} more without)" if silent else "")
        table.add_row(name, *(_rate(found[k]) for k in ("precision", "recall", "false_skip")), said)
    return table


def score_lines(data: dict[str, Any]) -> str:
    share = 100 * data["saved_s"] / data["hardware_s"] if data["hardware_s"] else 0.0
    return (
        f"\n{data['looks']} looks, {data['flagged']} flagged, {data['skipped']} skipped, {data['tried']} tried\n"
        f"hardware time saved {data['saved_s']:.1f} s of {data['hardware_s']:.1f} s ({share:.0f} %); "
        f"right kernels lost {data['lost']:.1f}"
    )
