"""Starting baselines: everything a user would pick instead, each in a process forked from one that has it imported.

Their import and warm-up never count in a timing. One that cannot run here is a reason, not a crash.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence

from kernellab.core.ids import canonical_json
from kernellab.measurement.ring import Ring
from kernellab.run.cpu import Entry, connect
from kernellab.run.worker import Worker
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.load import is_task_file
from kernellab.tasks.spec import Task
from kernellab.tasks.tunable import variants

_BOOT_S = 120.0


def available(task: Task) -> tuple[list[str], dict[str, str]]:
    """Names of the baselines that can run here, and why the others cannot."""
    names, missing = list(variants(task.baselines)), {}
    for name in names:
        if name.startswith("torch") and importlib.util.find_spec("torch") is None:
            missing[name] = "torch is not installed (pip install 'kernellab[torch]')"
    return [n for n in names if n not in missing], missing


class Baselines:
    """`host` is a zygote outside the sandbox (tier T0): these are trusted programs."""

    def __init__(self, with_torch: bool) -> None:
        preload = ["kernellab.measurement.baseline_job", "kernellab.tasks.builtin"]
        modules = ["kernellab.tasks.modules.task", "torch"]  # a module's baselines are torch's, all of them
        modules += ["kernellab.graph.quick_warm"]
        self._host = Sandbox("T0", [*preload, *modules] if with_torch else preload)

    def start(self, task: Task, locator: str, name: str, ring: Ring, threads: int, cpus: Sequence[int]) -> Worker:
        calls = [
            [
                *(["in", r.data, list(r.shape), r.dtype] for r in call.inputs),
                *(["out", r.data, list(r.shape), r.dtype] for r in call.outputs),
            ]
            for call in ring.calls
        ]
        located = os.path.abspath(locator) if is_task_file(locator) else locator
        setup = {"task": located, "baseline": name, "threads": threads, "calls": calls,
                 "path": [os.getcwd(), *(p for p in sys.path if p)]}  # fmt: skip
        entry = Entry(
            "kernellab.measurement.baseline_job:main", canonical_json(setup), (ring.inputs.fd, ring.sides[1].fd), {}
        )
        return connect(self._host, entry, Limits(), len(calls), threads, cpus, _BOOT_S, wait=False)

    def close(self) -> None:
        self._host.close()
