"""Starting GPU baselines: everything a user would pick instead, each in a process of its own on the ring's buffers."""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kernellab.build.cache import default_folder
from kernellab.core.ids import canonical_json
from kernellab.measurement.device_ring import DeviceRing
from kernellab.measurement.gpu_baseline_job import WAYS
from kernellab.run.base import Region, Runner, Sample, WorkerFault
from kernellab.run.cuda import CudaDevice
from kernellab.run.cuda_process import Process, files_of, gpu_environment
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.load import is_task_file
from kernellab.tasks.spec import Task
from kernellab.tasks.tunable import variants

_BOOT_S = min(240.0, max(60.0, 1440.0 / (os.cpu_count() or 1)))
"""To be compiled, which all processors work on. A depthwise convolution at max-autotune does not end within 240 s on 16."""
_COMPILE_S = 120.0  # one setting of a baseline's knobs
_NO_TRITON = "triton is not installed (pip install 'kernellab[cuda]')"


def available(task: Task) -> tuple[list[str], dict[str, str]]:
    """Names of the baselines that can run here, and why the others cannot."""
    names = []
    for name, variant in variants(task.gpu_baselines).items():
        names += [f"torch.{way}" for way in WAYS] if variant.name == "torch" else [name]
    if importlib.util.find_spec("torch") is None:
        return [], dict.fromkeys(names, "torch is not installed (pip install 'kernellab[cuda]')")
    if importlib.util.find_spec("triton") is None:
        missing = [n for n in names if n.startswith("triton")]
        return [n for n in names if n not in missing], dict.fromkeys(missing, _NO_TRITON)
    return names, {}


@cache
def _host() -> Sandbox:
    """A zygote outside the sandbox (tier T0) with torch imported: baselines are trusted programs. One for all tasks of this
    process, and as long as it lives: torch takes seconds to import."""
    preload = [
        "kernellab.measurement.gpu_baseline_job",
        "kernellab.tasks.builtin",
        "kernellab.tasks.modules.task",
        "torch",
    ]
    made = Sandbox("T0", preload, environment=gpu_environment(), wait=False)
    atexit.register(made.close)
    return made


class GpuBaselines:
    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._host = _host()

    def start(self, task: Task, locator: str, names: Sequence[str], ring: DeviceRing) -> dict[str, Runner]:
        """Their processes start at once; each is waited for when it is called for. All settings of one baseline's knobs
        share a process: they are the same program."""
        known = variants(task.gpu_baselines)
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(known[name].name if name in known else name, []).append(name)
        runners: dict[str, Runner] = {}
        for function, group in groups.items():
            shared = Shared(self._spawn(task, locator, function, group, ring))
            runners.update({name: BaselineRunner(self._device, shared, name) for name in group})
        return {name: runners[name] for name in names}

    def _spawn(self, task: Task, locator: str, name: str, group: Sequence[str], ring: DeviceRing) -> Process:
        way = name.partition(".")[2] if name.startswith("torch.") and name not in task.gpu_baselines else ""
        outputs = ring.sides[1]

        def wire(arena: int, region: Region) -> list[object]:
            return [arena, region.data, list(region.shape), region.dtype]

        calls = [[*(wire(0, r) for r in c.inputs), *(wire(1, r) for r in c.outputs)] for c in ring.calls]
        setup = {
            **self._device.setup, "sizes": [ring.inputs.size, outputs.size], "calls": calls, "way": way,
            "variants": list(group),
            "inputs": len(task.inputs), "function": "torch" if way else name, "path": [os.getcwd(), *filter(None, sys.path)],
            "task": os.path.abspath(locator) if is_task_file(locator) else task.name, "environment": _caches(),
        }  # fmt: skip
        with files_of(canonical_json(setup), self._device.own_kernels) as files:
            fds = [*files, ring.inputs.fd, outputs.fd]
            return Process(self._host, "kernellab.measurement.gpu_baseline_job:main", fds, _BOOT_S)


class Shared:
    """A process that ends with the last of its runners."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._users = 0
        self._fault: WorkerFault | None = None

    def join(self) -> None:
        self._users += 1

    def leave(self) -> None:
        self._users -= 1
        if self._users == 0:
            self.process.end()

    def ready(self) -> None:
        """Where it does not start, each of its runners hears why."""
        if self._fault is not None:
            raise self._fault
        try:
            self.process.ready()
        except WorkerFault as fault:
            self._fault = fault
            raise


class BaselineRunner:
    """A baseline's process as the bench sees it; where it has knobs, at the setting that `name` names."""

    def __init__(self, device: CudaDevice, shared: Shared, name: str) -> None:
        self._device, self._shared, self._name = device, shared, name
        self._process = shared.process
        self._prepared: set[int] = set()
        self._open = True
        shared.join()

    def ready(self) -> BaselineRunner:
        try:
            self._shared.ready()
            self.prepare([0], _COMPILE_S)
        except WorkerFault:
            self.close()
            raise
        return self

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        self.prepare(calls, timeout_s)
        throttled = self._device.gauges.throttled()
        request = {"do": "run", "calls": list(calls), "variant": self._name}
        reply = self._process.ask(request, timeout_s, when="during a call")
        return Sample(float(reply["seconds"]), throttled or self._device.gauges.throttled())

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        return False

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        return False

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        fresh = [n for n in calls if n not in self._prepared]
        if fresh:
            request = {"do": "prepare", "calls": fresh, "variant": self._name}
            self._process.ask(request, max(timeout_s, 60.0), when="before a call")
            self._prepared.update(fresh)
        return 0.0

    def remarks(self) -> dict[str, int | str]:
        return {}

    def pin(self, cpu: int) -> None:
        """The host's processors do not matter to what the device does."""

    def end(self) -> None:
        self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._shared.leave()


def _caches() -> dict[str, str]:
    """Where compiled baselines are kept: compiling takes torch many seconds, and the next run needs the same ones."""
    base: Path = default_folder().parent / "torch"
    return {"TORCHINDUCTOR_CACHE_DIR": str(base / "inductor"), "TRITON_CACHE_DIR": str(base / "triton"),
            "TORCHINDUCTOR_COMPILE_THREADS": str(max(1, (os.cpu_count() or 1) // 3))}  # fmt: skip
