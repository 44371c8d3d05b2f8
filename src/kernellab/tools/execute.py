"""Executing a plan: its steps in order, results into the artifact folder, until one comes to nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernellab.core.errors import (
    EXIT_BETTER,
    EXIT_BUSY,
    EXIT_ENVIRONMENT,
    EXIT_NOTHING_BETTER,
    EXIT_NOTHING_VERIFIED,
    EnvironmentFault,
    UsageError,
)
from kernellab.core.records import Record, dump
from kernellab.core.settings import Settings
from kernellab.core.targets import backend_of, devices
from kernellab.propose.recipe import read_candidate
from kernellab.targets.base import platform
from kernellab.targets.choose import AUTO, processor
from kernellab.tasks.builtin import TASKS
from kernellab.tools.calls import Call, checked
from kernellab.tools.context import ToolContext
from kernellab.tools.plan import CompileStep, Plan, place, read_plan, references
from kernellab.tools.quota import Deadline, TimeSpent, check_memory, check_threads
from kernellab.tools.records import Benchmarked
from kernellab.tools.workspace import Workspace, write_whole

RESULTS = "results.json"
_EXIT = {
    "out-of-time": EXIT_ENVIRONMENT, "over-quota": EXIT_ENVIRONMENT, "no-reply": EXIT_ENVIRONMENT,
    "format-failure": EXIT_NOTHING_VERIFIED, "invalid": EXIT_NOTHING_VERIFIED, "build-failed": EXIT_NOTHING_VERIFIED,
    "rejected": EXIT_NOTHING_VERIFIED, "nothing-verified": EXIT_NOTHING_VERIFIED, "nothing-better": EXIT_NOTHING_BETTER,
    "busy": EXIT_BUSY,
}  # fmt: skip
_GRAVEST = (EXIT_ENVIRONMENT, EXIT_NOTHING_VERIFIED, EXIT_BUSY, EXIT_NOTHING_BETTER)


@dataclass(frozen=True)
class Executed:
    """`results` has one object a step, with its tool and id; steps after one that came to nothing are not run."""

    plan: Plan
    folder: Path
    environment: str
    results: tuple[dict[str, Any], ...]

    @property
    def exit_code(self) -> int:
        """The gravest outcome: 5 the machine or a quota, 4 not verified, 7 too busy to tell, 3 not better, 0."""
        codes = {_EXIT.get(r["status"], EXIT_BETTER) for r in self.results}
        return next((code for code in _GRAVEST if code in codes), EXIT_BETTER)

    @property
    def status(self) -> str:
        words = {
            EXIT_BETTER: "done", EXIT_BUSY: "busy", EXIT_NOTHING_BETTER: "nothing-better",
            EXIT_NOTHING_VERIFIED: "nothing-verified",
        }  # fmt: skip
        return words.get(self.exit_code, "out-of-quota")

    def data(self) -> dict[str, Any]:
        return {
            "status": self.status, "artifact_dir": self.plan.artifact_dir, "environment": self.environment,
            "steps": list(self.results), "not_run": len(self.plan.steps) - len(self.results),
        }  # fmt: skip


@dataclass
class _Results:
    """What later steps may refer to."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def refer(self, name: str, argument: str) -> str:
        row = next(r for r in self.rows if r["id"] == name)
        folders = [row.get("folder", ""), *(r.get("folder", "") for r in row.get("rows", ()))]
        found = {"src": row.get("kernel"), "base": row.get("kernel"), "artifact": row.get("artifact"),
                 "db": next((Path(f).name for f in folders if f), None)}[argument]  # fmt: skip
        if not found:
            raise UsageError(
                f"step '{name}' ({row['tool']}) has nothing that could be the {argument} of another",
                "refer to another step",
            )
        return str(found)


def execute(path: Path, files: Mapping[str, str], settings: Mapping[str, Any] | None = None) -> Executed:
    """Checks everything that can be checked before anything is run."""
    plan = read_plan(path)
    folder = place(plan, path)
    check_threads(plan.quotas.threads)
    device = _device(plan)
    check_memory(plan.quotas.vram_gb, device)
    given = {**(settings or {}), "threads": plan.quotas.threads}
    chosen = {**given, **({"device": plan.device} if plan.device != "auto" else {})}
    deadline = Deadline(plan.quotas.timeout_s)
    context = ToolContext(Workspace(folder), files, chosen, deadline=deadline)
    environment = _environment(context, device)
    if plan.environment and plan.environment != environment:
        raise EnvironmentFault(f"the plan is for environment {plan.environment[:16]}..., this is {environment[:16]}...",
                               "run it where it was made, or leave 'environment' empty")  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    results = _Results()
    done = Executed(plan, folder, environment, ())
    try:
        for step in plan.steps:
            row = _outcome(context, plan, folder, step, results)
            results.rows.append(row)
            done = replace(done, results=tuple(results.rows))
            write_whole(folder / RESULTS, _lines(done))
            if _EXIT.get(row["status"], EXIT_BETTER) > EXIT_NOTHING_BETTER:
                break
    finally:
        context.workspace.close()
    return done


def _outcome(context: ToolContext, plan: Plan, folder: Path, step: Any, results: _Results) -> dict[str, Any]:
    """One step as a row of the results; the quota of seconds is the only thing that stops it half-way."""
    head = {"tool": step.tool, "id": step.id}
    try:
        record = _call(context, plan, folder, step, results).run(context)
    except TimeSpent as spent:
        return {**head, "status": "out-of-time", "reason": spent.what}
    return {**head, "status": _status(record), **{k: v for k, v in dump(record).items() if k != "status"}}


def _call(context: ToolContext, plan: Plan, folder: Path, step: Any, results: _Results) -> Call:
    """The step as a call, with references and files in place of their names."""
    given = step.model_dump(exclude={"tool", "id", "file"}, by_alias=True)
    for argument in ("src", "artifact", "db", "base"):
        value = given.get(argument)
        if isinstance(value, str) and value[1:] in references(step) and value.startswith("$"):
            given[argument] = results.refer(value[1:], argument)
    if isinstance(step, CompileStep) and step.file and step.spec is not None:
        candidate = read_candidate(folder / step.file)
        kept = context.workspace.keep_kernel(candidate.text, candidate.name, step.spec, backend_of(candidate.text))
        given["src"] = kept.id
    if step.tool == "benchmark":
        given["vram_gb"] = _tighter(given["vram_gb"], plan.quotas.vram_gb)
    kind: type[Call] = step.call
    return checked(kind, given, f"step {len(results.rows)}: ")


def _tighter(own: float, all_over: float) -> float:
    return min(x for x in (own, all_over) if x) if own or all_over else 0.0


def _status(record: Record) -> str:
    if isinstance(record, Benchmarked):
        return record.status
    return str(getattr(record, "status", "chosen"))


def _device(plan: Plan) -> str:
    known = [platform(kind) for kind in devices()]
    if plan.device == AUTO:
        here = [found.kind for found in known if found.accelerator and found.present()]
        return here[0] if here else processor().kind
    wanted = platform(plan.device)
    if not wanted.present():
        raise EnvironmentFault(
            f"the plan is for {wanted.place}, and none answers here",
            f"run it on such a machine, or on device '{processor().kind}'",
        )
    return wanted.kind


def _environment(context: ToolContext, device: str) -> str:
    """The digest that every trial of this plan will carry."""
    settings: Settings = context.choose(device=device)
    workshop = platform(device).open(settings, TASKS["softmax"], torch=False)
    workshop.close()
    return str(workshop.environment["digest"])


def _lines(done: Executed) -> bytes:
    return (json.dumps(done.data(), indent=1, allow_nan=False) + "\n").encode()
