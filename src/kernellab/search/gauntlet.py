"""The gauntlet: cheating kernels and tasks that must be caught, honest ones that must pass, through the real chain."""

from __future__ import annotations

import ast
import math
import os
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from kernellab.build.base import Candidate, NotBuilt
from kernellab.core.errors import TaskRefused, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.settings import Effort, Settings
from kernellab.core.targets import backend_of, devices, home_of, platforms
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Clocking, Judging
from kernellab.propose.recipe import with_defaults
from kernellab.targets.base import platform
from kernellab.targets.choose import AUTO
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims
from kernellab.verdict.controls import prove

BUSY = "busy"
_NOT_TIMED = ("build", "verify")
_EFFORT = Effort(least_pairs=31, trial_pairs=31, confirm_pairs=31, processes=1, narrow=0.0, trials=1, confirmations=1)
Kind = Literal["cheat", "honest", "task"]
_KERNELS: tuple[Kind, ...] = ("cheat", "honest")


@dataclass(frozen=True)
class Entry:
    """One file of the gauntlet; constants TASK, THREADS, STAGE and HARMLESS in it are read without running it."""

    path: Path
    kind: Kind
    task: str = "softmax"
    threads: int = 1
    harmless: bool = False
    caught_by: tuple[str, ...] = ()
    device: str = "cpu"
    stage: str = ""


@dataclass(frozen=True)
class Row:
    """`right` is what the gauntlet is about: a cheat caught, an honest kernel not refused.

    Status `busy`: the machine was too busy to tell. It counts neither as a cheat caught or missed nor as a false alarm.
    """

    name: str
    kind: Kind
    right: bool
    status: str
    cause: str
    reason: str
    device: str = "cpu"

    @property
    def wrong(self) -> bool:
        """A cheat that got through, or an honest kernel that was refused."""
        return not self.right and self.status != BUSY


def builtin_folder() -> Path:
    """Where the shipped gauntlet lies: in the installed package, or in the source tree."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_cheats", package.parents[1] / "tests" / "cheats"):
        if folder.is_dir():
            return folder
    raise UsageError("the shipped gauntlet is not in this installation", "give folders with --cheats and --honest")


def collect(cheats: Iterable[Path], honest: Iterable[Path], builtin: bool = True) -> list[Entry]:
    """The shipped files and those of the given folders."""
    entries: list[Entry] = []
    if builtin:
        entries += _shipped(builtin_folder())
    for kind, folders in (("cheat", cheats), ("honest", honest)):
        for folder in folders:
            files = [folder] if folder.is_file() else sorted(folder.glob("**/*.py"))
            if not files:
                raise UsageError(f"{folder} holds no Python files", "give a folder of candidate files")
            entries += [_entry(p, "task" if kind == "cheat" and _is_task(p) else kind) for p in files]  # type: ignore[arg-type]
    return entries


def _shipped(base: Path) -> list[Entry]:
    """The folder of every platform, and that of the tasks behind the first."""
    first, *others = dict.fromkeys(p.gauntlet for p in platforms() if p.gauntlet)
    entries: list[Entry] = []
    for folder, kinds in ((first, _KERNELS), ("tasks", ("task",)), *((other, _KERNELS) for other in others)):
        for kind in kinds:
            entries += [_entry(p, kind) for p in sorted((base / folder).glob(f"{kind}_*.py"))]
    return entries


def sample(entries: list[Entry], count: int, seed: int) -> list[Entry]:
    """A random sample of `count` entries: every kind and device in proportion, and at least one of each."""
    strata: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, entry in enumerate(entries):
        strata[entry.kind, entry.device].append(number)
    rng = random.Random(seed)
    chosen: list[int] = []
    left, open_places = len(entries), min(count, len(entries))
    for _, members in sorted(strata.items(), key=lambda s: (len(s[1]), s[0])):
        share = min(len(members), open_places, max(1, math.floor(open_places * len(members) / left + 0.5)))
        chosen += rng.sample(members, share)
        left, open_places = left - len(members), open_places - share
    return [entries[number] for number in sorted(chosen)]


def run_gauntlet(entries: list[Entry], settings: Settings, emit: Listener = silent) -> list[Row]:
    """Every entry through task proof, build, full judgement and timed, checked calls.

    Without a GPU, of the entries that need one only those that are to be refused when built are run (`runnable`).
    """
    quick = settings.model_copy(update={"build_timeout_s": min(settings.build_timeout_s, 6.0), "cache": False})
    here = runnable(entries, quick)
    rows = [_report(emit, _task_row(entry)) for entry in here if entry.kind == "task"]
    kernels = [e for e in here if e.kind != "task"]
    groups = sorted({(e.device, e.task, e.threads) for e in kernels})
    for device, task, threads in groups:
        members = [e for e in kernels if (e.device, e.task, e.threads) == (device, task, threads)]
        chosen = quick.model_copy(update={"threads": threads, "device": device})
        run = _run_group if platform(device).present() else _build_group
        rows += run(task, chosen, members, emit)
    return rows


def runnable(entries: list[Entry], settings: Settings) -> list[Entry]:
    """The entries that this machine can decide, of the devices that were asked for: all where the device is here."""
    wanted = devices() if settings.device == AUTO else [settings.device]
    here = {kind for kind in devices() if platform(kind).present()}
    return [e for e in entries if e.kind == "task" or (e.device in wanted and (e.device in here or e.stage == "build"))]


def summary(rows: list[Row]) -> dict[str, Any]:
    told = [r for r in rows if r.status != BUSY]
    cheats = [r for r in told if r.kind != "honest"]
    honest = [r for r in told if r.kind == "honest"]
    return {
        "caught": sum(r.right for r in cheats), "missed": sum(r.wrong for r in cheats),
        "false_alarms": sum(r.wrong for r in honest), "honest": len(honest), "busy": len(rows) - len(told),
    }  # fmt: skip


def _build_group(task_name: str, settings: Settings, members: list[Entry], emit: Listener) -> list[Row]:
    """Entries that must be refused at build time, judged without a device. A missing compiler refuses nothing."""
    task = load_task(task_name)
    rows = []
    with platform(settings.device).workbench(settings) as bench:
        for entry in members:
            candidate = _candidate(entry)
            params = with_defaults(bench.builder, candidate)
            if bench.builder.lacks(candidate):
                continue
            built = bench.builder.build(task, candidate, params, [task.quick_shape, *task.edge])
            refused = isinstance(built, NotBuilt)
            reason = built.reason if isinstance(built, NotBuilt) else ""
            status = built.status if isinstance(built, NotBuilt) else "built"
            rows.append(_report(emit, Row(entry.path.stem, entry.kind, refused, status, status, reason, entry.device)))
    return rows


def _run_group(task_name: str, settings: Settings, members: list[Entry], emit: Listener) -> list[Row]:
    task = replace(load_task(task_name), sizes={})  # the smaller shapes judge as sharply, and sooner
    dims = task.quick_shape
    rows = []
    judging = Judging(level="full", inputs_seed=os.urandom(32).hex())
    with OpenTask(settings, task, task_name, emit=silent, torch=False) as opened:
        for entry in members:
            rows.append(_report(emit, _candidate_row(opened, dims, judging, entry)))
    return rows


def _candidate_row(opened: OpenTask, dims: Dims, judging: Judging, entry: Entry) -> Row:
    status, cause, reason = _judge(opened, dims, judging, entry)
    if status == BUSY and entry.kind == "cheat" and entry.stage in _NOT_TIMED:
        status = "passed"  # a busy machine excuses nothing that is to be told without a clock
    passed = status == "passed"
    if entry.kind == "honest":
        return Row(entry.path.stem, "honest", passed or status == BUSY, status, cause, reason, entry.device)
    right = entry.harmless if passed else status != BUSY
    shown = "harmless" if passed and entry.harmless else status
    return Row(entry.path.stem, "cheat", right, shown, cause, reason, entry.device)


def _judge(opened: OpenTask, dims: Dims, judging: Judging, entry: Entry) -> tuple[str, str, str]:
    candidate = _candidate(entry)
    asked = {"judging": judging, "clocking": Clocking(how="fixed"), "effort": _EFFORT}
    found = opened.evaluate(opened.request(dims, candidate, with_defaults(opened.builder, candidate), **asked))
    if found.artifact is None:
        return found.status, found.status, found.reason
    if found.rejected is not None:
        return "rejected", found.rejected.cause, found.reason
    if found.timing is None:
        return BUSY, "", found.reason
    if found.timing.disturbed:
        return BUSY, "", "right, and too many of its pairs were disturbed to time it"
    return "passed", "", ""


def _candidate(entry: Entry) -> Candidate:
    return Candidate(entry.path.read_text(errors="replace"), entry.path.stem)


def _task_row(entry: Entry) -> Row:
    try:
        prove(load_task(str(entry.path)))
    except TaskRefused as refused:
        return Row(entry.path.stem, "task", True, "refused", "refused", refused.what)
    return Row(entry.path.stem, "task", False, "accepted", "", "")


def _report(emit: Listener, row: Row) -> Row:
    mark = "BAD" if row.wrong else "ok "
    emit(Event("note", f"{mark} {row.kind:6} {row.name}: {row.status} {row.cause}", {"row": row}))
    return row


def _entry(path: Path, kind: Kind) -> Entry:
    constants = _constants(path)
    task = constants.get("TASK", "softmax")
    causes = constants.get("CAUGHT_BY", ())
    return Entry(
        path, kind, task if isinstance(task, str) else "softmax", int(constants.get("THREADS", 1)),
        bool(constants.get("HARMLESS", False)), tuple(causes) if isinstance(causes, (tuple, list)) else (str(causes),),
        devices()[0] if kind == "task" else home_of(backend_of(path.read_text(errors="replace"))),
        str(constants.get("STAGE", "")),
    )  # fmt: skip


def _is_task(path: Path) -> bool:
    """A file that makes a Task instead of naming one."""
    text = path.read_text(errors="replace")
    return "TASK" in text and "Task(" in text and "SOURCE" not in text


def _constants(path: Path) -> dict[str, Any]:
    try:
        tree = ast.parse(path.read_text(errors="replace"))
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
    return found
