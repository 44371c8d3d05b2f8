"""The prompts of a run's tasks: what a policy is told of a task at a shape, by the scientist's own templates.

Everything comes from the ledger, so a data set and a service that goes on give the same words. Nothing that a task keeps
back is in them: facts are made of the one shape that is asked for. Of a ledger of rewards they do not tell the machine's
ceilings, which are in it only once a reply was timed: what is asked first, asked later and taught is one text.
"""

from __future__ import annotations

from dataclasses import replace

from kernellab.core.targets import recorded_machine
from kernellab.ledger.reward_records import REWARD_PLAN
from kernellab.ledger.run import Run
from kernellab.measurement.roofline import Ceilings
from kernellab.propose.prompts import Brief, DeviceFacts, PromptBook, TaskFacts
from kernellab.targets.choose import platform_of
from kernellab.tasks.load import kept_in, load_task
from kernellab.tasks.spec import Dims, Task, shape_key

Messages = list[dict[str, str]]


class RunPrompts:
    """Of one run. Each is made once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kind = platform_of(run.genesis.settings).kind
        self._rewards = bool(run.count(REWARD_PLAN))
        self._templates = PromptBook()
        self._tasks: dict[str, Task] = {}
        self._made: dict[tuple[str, str, str], Messages] = {}

    def task(self, name: str) -> Task:
        """As it is now; a file of the user's as the run kept it."""
        if name not in self._tasks:
            self._tasks[name] = load_task(self._locator(name)).on(self._kind)
        return self._tasks[name]

    def of(self, name: str, dims: Dims, backend: str) -> Messages:
        key = (name, shape_key(dims), backend)
        if key not in self._made:
            facts = TaskFacts.of(replace(self.task(name), tune=(dims,), sizes={}), self._kind)
            made = self._templates.render("write", Brief(facts, self._device(name, dims), backend))
            self._made[key] = [{"role": "system", "content": made.system}, {"role": "user", "content": made.user}]
        return self._made[key]

    def _locator(self, name: str) -> str:
        for listed in (task for plan in self._run.records(REWARD_PLAN) for task in plan.tasks):
            if listed.name == name:
                return str(self._run.folder / listed.file) if listed.file else name
        own = self._run.genesis.task
        return str(kept_in(self._run.folder)) if own.name == name and not own.builtin else name

    def _device(self, task: str, dims: Dims) -> DeviceFacts:
        name = self._run.start.environment.device
        found, machine = recorded_machine(name)
        known = () if self._rewards else self._run.calibrations
        first = next((c for c in known if c.task == task and shape_key(c.dims) == shape_key(dims)), None)
        ceilings = None if first is None else Ceilings.recorded(first.ceilings)
        if machine is None:
            return DeviceFacts.of(name, found.architecture, self._run.genesis.settings.threads, ceilings)
        return DeviceFacts.of(name, machine.architecture, machine.processors, ceilings)
