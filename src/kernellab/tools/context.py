"""What a call of a tool works with: the workspace, the tasks it may name, the settings, and a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.settings import Settings, load_settings
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import is_task_file, load_task, locate
from kernellab.tasks.room import read_shape
from kernellab.tasks.spec import Dims, Task
from kernellab.tasks.suites import is_shipped
from kernellab.tools.quota import Deadline
from kernellab.tools.records import Spec
from kernellab.tools.workspace import DEFAULT, Workspace


@dataclass(frozen=True)
class ToolContext:
    """`files`: task files by the name of their task. None: any path may be named, as by a person at the command line;
    where an agent or a document names tasks it is a mapping, since a task file runs unconfined, as its owner's script."""

    workspace: Workspace = field(default_factory=lambda: Workspace(Path(DEFAULT)))
    files: Mapping[str, str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    deadline: Deadline = field(default_factory=Deadline)

    def locate(self, spec: Spec) -> tuple[Task, str]:
        """The task and the locator that loads it again."""
        name = spec.task
        if self.files is not None and name not in TASKS and not is_shipped(name):
            if name not in self.files:
                known = ", ".join((*TASKS, *self.files))
                raise UsageError(
                    f"there is no task '{name[:80]}'", f"one of {known}; a file of yours is named at start with --task"
                )
            name = self.files[name]
        name = locate(name)
        task = load_task(name, spec.dtype)
        return task, name if is_task_file(name) else task.name

    def dims(self, spec: Spec, task: Task) -> Dims | None:
        return read_shape(spec.shape, task) if spec.shape else None

    def choose(self, **changes: Any) -> Settings:
        """The settings of the context with a call's own on top; None: left as they are."""
        return load_settings({**self.settings, **{k: v for k, v in changes.items() if v is not None}})


def task_files(paths: list[Path]) -> dict[str, str]:
    """Task files that a person vouches for, by the names of their tasks."""
    found: dict[str, str] = {}
    for path in paths:
        name = load_task(str(path)).name
        if name in TASKS or name in found:
            raise UsageError(f"{path} names its task '{name}', which there is already", "rename the task in the file")
        found[name] = str(path.resolve())
    return found


def as_spec(spec: Spec | str) -> Spec:
    return Spec(task=spec) if isinstance(spec, str) else spec
