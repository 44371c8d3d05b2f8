"""The screens of the command line, apart from running searches: every one has a table for people and JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.records import Artifact, Param
from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of, devices, platforms, title_of
from kernellab.tasks.extents import extents

if TYPE_CHECKING:
    from kernellab.ledger.check import LedgerCheck
    from kernellab.search.outcome import Outcome
    from kernellab.tasks.spec import Task


def print_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, allow_nan=False, default=str) + "\n")
    sys.stdout.flush()


def existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise UsageError(
            f"there is no run folder {folder}",
            "give the folder that 'klab run' named; klab-runs/ holds them by default",
        )
    return folder


def soundness(found: LedgerCheck) -> dict[str, Any]:
    """How --json opens what is shown of a ledger."""
    return {
        "status": "unsound" if found.problems else "ok",
        "problems": list(found.problems),
        "run": found.run,
        "ended": found.ended,
        "ledger_root": found.root,
    }


def not_sound(console: Console, folder: Path, found: LedgerCheck) -> None:
    """The warning under everything that is shown of a ledger that does not verify."""
    if found.problems:
        text = f"NOT SOUND: {found.problems[0]} (klab audit {folder} says more)"
        console.print(text, style="bold red", markup=False, soft_wrap=True)


def parse_params(given: list[str] | None) -> dict[str, Param]:
    """NAME=VALUE with whole numbers, decimals, true and false read as such."""
    params: dict[str, Param] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"'{text}' is not a parameter", "write --param NAME=VALUE")
        params[name] = _value(value)
    return params


def _value(text: str) -> Param:
    if text in ("true", "True", "false", "False"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if not math.isfinite(value):
            raise UsageError(f"a parameter cannot be {text}", "give a finite number or a word")
        return value
    return text


def tasks(console: Console, as_json: bool) -> None:
    """A block for each family: its dtypes, and what there is of it on each kind of device."""
    from kernellab.search.runs import describe_task
    from kernellab.tasks.builtin import TASKS

    if as_json:
        print_json({"status": "ok", "tasks": [describe_task(t) for t in TASKS.values()]})
        return
    for name in dict.fromkeys(t.family for t in TASKS.values()):
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_row(Text(name, "bold"), Text(TASKS[name].about))
        for label, text in _task_rows(name, [t for t in TASKS.values() if t.family == name]):
            grid.add_row(f"  {label}", Text(text))
        console.print(grid)
        console.print()
    console.print(
        "klab run NAME [--dtype bf16] [--shape MxN]; a task of your own: klab init NAME", style="dim", markup=False
    )


def suite_tasks(console: Console, name: str, path: str, as_json: bool) -> None:
    """The problems of a suite, a line each; nothing of them is run for it."""
    from kernellab.tasks.suites.finding import find_suite
    from kernellab.tasks.suites.listing import lines_of

    suite = find_suite(name, path)
    lines = lines_of(suite)
    if as_json:
        told = [{"name": line.name, "about": line.about, "locator": line.locator} for line in lines]
        print_json({"status": "ok", "suite": suite.name, "tasks": told})
        return
    wide = max(len(line.name) for line in lines)
    for line in lines:
        console.print(f"{line.name:{wide}}  {line.about}", markup=False, soft_wrap=True)
    where = f"--path {path}" if path else name
    console.print(f"\n{len(lines)} tasks; klab suite check {where}; klab check {lines[0].locator}", style="dim",
                  markup=False, soft_wrap=True)  # fmt: skip


def _task_rows(name: str, variants: list[Task]) -> Iterator[tuple[str, str]]:
    from kernellab.propose.recipe import builtin_candidates
    from kernellab.targets.base import platform

    yield "dtypes", ", ".join("f32" if t.name == name else t.name.removeprefix(f"{name}_") for t in variants)
    for device, where in ((known.kind, known.title) for known in platforms()):
        able = [t for t in variants if builtin_candidates(t.name, device)]
        if not able:
            continue
        only = "" if len(able) == len(variants) else " (f32)" if [t.name for t in able] == [name] else " (some dtypes)"
        task = able[0].on(device)
        yield f"{where}{only}", "  ".join("x".join(map(str, d.values())) for d in task.tune)
        yield "  against", ", ".join(platform(device).baselines(task))
        recipes: dict[str, list[str]] = {}
        for candidate in builtin_candidates(task.name, device):
            recipes.setdefault(backend_of(candidate.text), []).append(candidate.name)
        for backend, names in recipes.items():
            yield f"  {title_of(backend)}", ", ".join(n.removesuffix(f"_{backend}") for n in names)


def verdict(console: Console, outcome: Outcome) -> None:
    data = outcome.data()
    passed = outcome.status != "nothing-verified"
    console.print()
    console.print(
        Text("PASSED" if passed else "REJECTED", style="bold green" if passed else "bold red"),
        Text(data["reason"] or ""),
        soft_wrap=True,
    )
    console.print(
        f"trust {data['trust']}, sandbox {data['tier']}, ledger root {data['ledger_root']}\nrecorded in {data['run']}",
        markup=False,
        soft_wrap=True,
    )
    if (said := outcome.extras.get("sanitizer")) is not None:
        console.print(sanitizer_line(said), markup=False, soft_wrap=True)


def sanitizer_line(said: dict[str, Any] | str) -> str:
    """What compute-sanitizer came to, in one line or one for each finding."""
    if isinstance(said, str):
        return f"sanitizer {said}"
    lines = [
        f"{f['tool']}{' in ' + f['kernel'] if f['kernel'] else ''}: {f['message']} ({f['count']} errors)"
        for f in said["findings"]
    ]
    lines += [f"{tool} came to no verdict: {why}" for tool, why in said.get("unfinished", {}).items()]
    clean = ", ".join(
        t for t in said["tools"] if t not in {f["tool"] for f in said["findings"]} | set(said["unfinished"])
    )
    return "sanitizer " + "\n          ".join([*lines, *([f"{clean}: nothing found"] if clean else [])])


def abilities(console: Console, artifact: Artifact) -> None:
    """What the machine code can do besides computing; what a reader should know of stands out."""
    from kernellab.build.abilities import for_review, in_words

    listed = artifact.abilities if artifact.abilities_edition else None
    style = "yellow" if for_review(listed or ()) else ""
    console.print(f"besides computing: {in_words(listed)}", style=style, markup=False, soft_wrap=True)


def profiles(console: Console, found: list[dict[str, Any]]) -> None:
    """Three lines for each profiled kernel: what bounds it."""
    for body in found:
        dims = extents(body["task"], body["dims"])
        console.print(
            f"\nprofile of trial {body['trial']}, {body['task']} {dims} ({body['tool'] or 'no counters'})", markup=False
        )
        for line in body["lines"]:
            console.print(f"  {line}", markup=False, soft_wrap=True)


def replayed(console: Console, row: dict[str, Any]) -> None:
    console.print(f"trial {row['trial']}: {row['name']} {row['params']}", markup=False, soft_wrap=True)
    if "same_machine_code" in row:
        console.print(
            "machine code " + ("identical, byte for byte" if row["same_machine_code"] else "DIFFERS from the record")
        )
    figure = (
        f": {row['speedup']:.3f}x of {row['baseline']} [{row['speedup_low']:.3f}, {row['speedup_high']:.3f}]"
        if "speedup" in row
        else ""
    )
    console.print(
        f"recorded: {row['recorded']}; now: {row['status']} {row['reason']}{figure}", markup=False, soft_wrap=True
    )
    console.print("agrees" if row["agrees"] else "DOES NOT AGREE", style="green" if row["agrees"] else "red")


def doctor(console: Console, settings: Settings, as_json: bool) -> bool:
    """Compiler, tiers and the self-attack, in the tier that runs would use."""
    from kernellab.build.compiler import find_compiler
    from kernellab.run.cpu import cpu_name
    from kernellab.run.device import describe_environment
    from kernellab.sandbox.attacks import self_attack
    from kernellab.sandbox.tiers import open_sandbox, survey
    from kernellab.targets.base import platform

    try:
        compiler = find_compiler(settings.compiler)
        compiler_text, compiler_fix = compiler.identity + (" with OpenMP" if compiler.openmp else ", no OpenMP"), ""
    except EnvironmentFault as fault:
        compiler_text, compiler_fix = f"none: {fault.what}", fault.fix
    tiers = survey()
    with open_sandbox(settings.sandbox, ["kernellab.sandbox.attacks"]) as sandbox:
        tier = sandbox.tier
        results = self_attack(sandbox)
    tried = [r for r in results if r.applicable]
    blocked = sum(r.blocked for r in tried)
    good = blocked == len(tried) and not compiler_fix
    environment = describe_environment(cpu_name(), compiler_text, tier, settings.threads)
    gpu = {name: text for kind in devices() for name, text in platform(kind).survey().items()}
    found = {
        "status": "ok" if good else "failed",
        "tier": tier,
        "tiers": tiers,
        "compiler": compiler_text,
        "gpu": gpu,
        "environment": environment,
        "attacks": [r.__dict__ for r in results],
        "blocked": blocked,
        "succeeded": len(tried) - blocked,
    }
    if as_json:
        print_json(found)
    else:
        _doctor_page(console, found, compiler_fix)
    return good


def _doctor_page(console: Console, found: dict[str, Any], compiler_fix: str) -> None:
    environment, tier, blocked = found["environment"], found["tier"], found["blocked"]
    console.print(
        f"device    {environment['device']}\nkernel    {environment['kernel']}\ncompiler  {found['compiler']}",
        markup=False,
    )
    if compiler_fix:
        console.print(f"          fix: {compiler_fix}", style="red", markup=False, soft_wrap=True)
    for name, text in found["gpu"].items():
        console.print(f"{name:9} {text}", markup=False, soft_wrap=True)
    packages = ", ".join(f"{k} {v}" for k, v in environment["packages"].items())
    console.print(f"packages  {packages}", markup=False, soft_wrap=True)
    for name, answer in found["tiers"].items():
        console.print(f"tier {name}   {answer}{'  (chosen)' if name == tier else ''}", markup=False, soft_wrap=True)
    table = Table(show_edge=False, pad_edge=False)
    for name in ("attack", "profile", "outcome", "how"):
        table.add_column(name)
    for attack in found["attacks"]:
        mark = Text("blocked", "green") if attack["blocked"] else Text("SUCCEEDED", "bold red")
        table.add_row(
            attack["what"],
            attack["profile"],
            mark if attack["applicable"] else Text("does not apply", "dim"),
            attack["how"],
        )
    console.print(table)
    console.print(
        f"{blocked} of {blocked + found['succeeded']} attacks blocked in tier {tier}",
        style="bold green" if found["status"] == "ok" else "bold red",
    )
