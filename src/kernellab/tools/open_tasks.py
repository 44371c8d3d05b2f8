"""The task that an agent verified kernels of last stays open: sandbox, compiler, inputs and known answers are there for the
next one, which then takes the time of its build and its calls.

The inputs are secret, and no candidate keeps anything from one verdict to the next; but what is told of a wrong kernel tells
something of them. So they are drawn anew after a number of verdicts. They decide no claim: a benchmark has its own.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from dataclasses import dataclass, field

from kernellab.core.events import Listener
from kernellab.core.settings import Settings
from kernellab.evaluate.open_task import OpenTask
from kernellab.targets.base import Workbench, platform
from kernellab.tasks.spec import Dims, Task, dims_label

_VERDICTS = 16


@dataclass
class _Inputs:
    seed: str = field(default_factory=lambda: os.urandom(32).hex())
    used: int = 0


@dataclass
class OpenTasks:
    """One task at a time; whoever uses it holds the workspace's `lab`."""

    _key: tuple[str, str] = ("", "")
    _opened: OpenTask | None = None
    _inputs: dict[str, _Inputs] = field(default_factory=dict)
    _bench: Workbench | None = None
    _bench_key: tuple[str, str] = ("", "")

    def open(self, settings: Settings, task: Task, locator: str, emit: Listener) -> OpenTask:
        """The task, open; from now on it tells `emit`. Whoever asks has proved it."""
        key = (task.fingerprint(), settings.model_dump_json())
        if self._opened is None or key != self._key:
            self.close()
            self._opened, self._key = OpenTask(settings, task, locator, emit), key
            atexit.register(self.close)
        self._opened.listen(emit)
        self._opened.move(locator)
        return self._opened

    def workbench(self, settings: Settings, kind: str) -> Workbench:
        """Builders of a device, open for the next kernel too."""
        key = (kind, settings.model_dump_json())
        if self._bench is None or key != self._bench_key:
            self.close_workbench()
            self._bench, self._bench_key = platform(kind).workbench(settings).__enter__(), key
            atexit.register(self.close_workbench)
        return self._bench

    def close_workbench(self) -> None:
        bench, self._bench = self._bench, None
        atexit.unregister(self.close_workbench)
        if bench is not None:
            with suppress(OSError):
                bench.__exit__(None, None, None)

    def inputs(self, dims: Dims) -> str:
        """The seed of the inputs at a shape, the same for a number of verdicts."""
        label = dims_label(dims)
        if self._inputs.setdefault(label, _Inputs()).used >= _VERDICTS:
            self._inputs[label] = _Inputs()
        self._inputs[label].used += 1
        return self._inputs[label].seed

    def close(self) -> None:
        """Also after a fault: what broke off is opened anew."""
        opened, self._opened, self._inputs = self._opened, None, {}
        atexit.unregister(self.close)
        if opened is not None:
            with suppress(OSError):
                opened.close()
