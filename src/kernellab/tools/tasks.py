"""list_tasks(), and what a writer must know of a task: the same text that a model is given."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernellab.core.targets import backend_of, devices, home_of
from kernellab.propose.prompts import BaselineFacts, Brief, DeviceFacts, PromptBook, TaskFacts, Withheld, shown
from kernellab.propose.recipe import builtin_candidates
from kernellab.targets.base import platform
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task, dims_label
from kernellab.tasks.suites.finding import find_suite
from kernellab.tasks.suites.listing import lines_of
from kernellab.tools.records import TaskLine, TaskList

_EXAMPLE = re.compile(r"```python\n.*?```", re.DOTALL)


def list_tasks(files: Mapping[str, str] | None = None, suite: str = "") -> TaskList:
    """A line for each family of built-in tasks, and for each task file or module; or for each task of a suite."""
    if suite:
        found = lines_of(find_suite(suite))
        return TaskList(
            tasks=tuple(TaskLine(name=t.locator, about=t.about, dtypes=(), shapes=(), recipes=()) for t in found)
        )
    lines = [
        _line(TASKS[name], [t for t in TASKS.values() if t.family == name])
        for name in dict.fromkeys(t.family for t in TASKS.values())
    ]
    for path in (files or {}).values():
        task = load_task(path)
        lines.append(_line(task, [task]))
    return TaskList(tasks=tuple(lines))


def _line(task: Task, variants: list[Task]) -> TaskLine:
    kernels = [c for device in devices() for c in builtin_candidates(task.name, device)]
    return TaskLine(
        name=task.name,
        about=shown(task.about, Withheld.of(task)),
        dtypes=tuple("f32" if t.name == task.name else t.name.removeprefix(f"{task.name}_") for t in variants)
        if len(variants) > 1
        else (task.outputs[0].dtype,),
        shapes=tuple(dims_label(d) for d in task.tune),
        recipes=tuple(f"{backend_of(c.text)}: {c.name.removesuffix('_' + backend_of(c.text))}" for c in kernels),
    )


def brief_of(task: Task, backend: str) -> Brief:
    """The facts that a writer gets: of the shapes, those that are tuned for alone."""
    found = platform(home_of(backend))
    facts = DeviceFacts.of(found.here(), found.architecture, 0 if found.accelerator else 1, notes=found.notes())
    here = task.on(found.kind)
    named = found.baselines(here)
    beaten = tuple(BaselineFacts.of(here, named, name, None) for name in named)
    return Brief(task=TaskFacts.of(task, found.kind), device=facts, backend=backend, baselines=beaten)


def guide(task: Task, backend: str) -> str:
    """The task, its accuracy rule and the candidate format, for a writer who is no model of ours."""
    text = PromptBook().render("write", brief_of(task, backend)).user
    problem = text.partition("# Your part")[0].strip()
    rules, _, rest = text.partition("# Candidate format")[2].partition("# Reply format")
    example = _EXAMPLE.search(rest)
    return "\n\n".join(
        [problem, "# Candidate format" + rules.rstrip(), "An example of the form:", example[0] if example else ""]
    )
