"""list_tasks(), and what a writer must know of a task: the same text that a model is given."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernellab.build.router import DEVICE_OF, backend_of
from kernellab.core.hardware import cpu_model
from kernellab.propose.prompts import Brief, DeviceFacts, PromptBook, TaskFacts, Withheld, shown
from kernellab.propose.prompts.render import Backend
from kernellab.propose.recipe import builtin_candidates
from kernellab.search.construct import DEFAULT_TARGET
from kernellab.search.gauntlet import family
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Task, dims_label
from kernellab.tools.records import TaskLine, TaskList

_EXAMPLE = re.compile(r"```python\n.*?```", re.DOTALL)


def list_tasks(files: Mapping[str, str] | None = None) -> TaskList:
    """A line for each family of built-in tasks, and for each task file."""
    lines = [
        _line(TASKS[name], [t for n, t in TASKS.items() if family(n) == name])
        for name in dict.fromkeys(map(family, TASKS))
    ]
    for path in (files or {}).values():
        task = load_task(path)
        lines.append(_line(task, [task]))
    return TaskList(tasks=tuple(lines))


def _line(task: Task, variants: list[Task]) -> TaskLine:
    kernels = [c for device in ("cpu", "cuda") for c in builtin_candidates(task.name, device)]
    return TaskLine(
        name=task.name,
        about=shown(task.about, Withheld.of(task)),
        dtypes=tuple("f32" if t.name == task.name else t.name.removeprefix(f"{task.name}_") for t in variants)
        if len(variants) > 1
        else (task.outputs[0].dtype,),
        shapes=tuple(dims_label(d) for d in task.tune),
        recipes=tuple(f"{backend_of(c.text)}: {c.name.removesuffix('_' + backend_of(c.text))}" for c in kernels),
    )


def brief_of(task: Task, backend: Backend) -> Brief:
    """The facts that a writer gets: of the shapes, those that are tuned for alone."""
    device = DEVICE_OF[backend]
    facts = (
        DeviceFacts.of(cpu_model(), "cpu", 1) if device == "cpu" else DeviceFacts.of("an NVIDIA GPU", DEFAULT_TARGET, 0)
    )
    return Brief(task=TaskFacts.of(task, device), device=facts, backend=backend)


def guide(task: Task, backend: Backend) -> str:
    """The task, its accuracy rule and the candidate format, for a writer who is no model of ours."""
    text = PromptBook().render("write", brief_of(task, backend)).user
    problem = text.partition("# Your part")[0].strip()
    rules, _, rest = text.partition("# Candidate format")[2].partition("# Reply format")
    example = _EXAMPLE.search(rest)
    return "\n\n".join(
        [problem, "# Candidate format" + rules.rstrip(), "An example of the form:", example[0] if example else ""]
    )
