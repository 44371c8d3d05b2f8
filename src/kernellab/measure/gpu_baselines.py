"""Starting GPU baselines: everything a user would pick instead, each in a process of its own on the ring's buffers."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kernellab.build.cache import default_folder
from kernellab.core.ids import canonical_json
from kernellab.measure.device_ring import DeviceRing
from kernellab.measure.gpu_baseline_job import WAYS
from kernellab.run.base import Region, Runner, Sample
from kernellab.run.cuda import CudaDevice
from kernellab.run.cuda_process import Process, files_of, gpu_environment
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Task

_BOOT_S = 240.0


def available(task: Task) -> tuple[list[str], dict[str, str]]:
    """Names of the baselines that can run here, and why the others cannot."""
    names = []
    for name in task.gpu_baselines:
        names += [f"torch.{way}" for way in WAYS] if name == "torch" else [name]
    if importlib.util.find_spec("torch") is None:
        return [], dict.fromkeys(names, "torch is not installed (pip install 'kernellab[cuda]')")
    return names, {}


class GpuBaselines:
    """`host` is a zygote outside the sandbox (tier T0) with torch imported: these are trusted programs."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        preload = ["kernellab.measure.gpu_baseline_job", "kernellab.tasks.builtin", "torch"]
        self._host = Sandbox("T0", preload, environment=gpu_environment(), wait=False)  # torch takes seconds to import

    def start(self, task: Task, locator: str, names: Sequence[str], ring: DeviceRing) -> dict[str, Runner]:
        """Their processes start at once; each is waited for when it is called for."""
        processes = {name: self._spawn(task, locator, name, ring) for name in names}
        return {name: BaselineRunner(self._device, process) for name, process in processes.items()}

    def close(self) -> None:
        self._host.close()

    def _spawn(self, task: Task, locator: str, name: str, ring: DeviceRing) -> Process:
        way = name.partition(".")[2] if name.startswith("torch.") and name not in task.gpu_baselines else ""
        outputs = ring.sides[1]

        def wire(arena: int, region: Region) -> list[object]:
            return [arena, region.data, list(region.shape), region.dtype]

        calls = [[*(wire(0, r) for r in c.inputs), *(wire(1, r) for r in c.outputs)] for c in ring.calls]
        setup = {
            **self._device.setup, "sizes": [ring.inputs.size, outputs.size], "calls": calls, "way": way,
            "inputs": len(task.inputs), "function": "torch" if way else name, "path": [os.getcwd(), *filter(None, sys.path)],
            "task": os.path.abspath(locator) if locator.endswith(".py") else task.name, "environment": _caches(),
        }  # fmt: skip
        with files_of(canonical_json(setup), self._device.own_kernels) as files:
            fds = [*files, ring.inputs.fd, outputs.fd]
            return Process(self._host, "kernellab.measure.gpu_baseline_job:main", fds, _BOOT_S)


class BaselineRunner:
    """A baseline's process as the bench sees it."""

    def __init__(self, device: CudaDevice, process: Process) -> None:
        self._device, self._process = device, process
        self._prepared = {0}

    def ready(self) -> BaselineRunner:
        self._process.ready()
        return self

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        self.prepare(calls, timeout_s)
        throttled = self._device.gauges.throttled()
        reply = self._process.ask({"do": "run", "calls": list(calls)}, timeout_s, when="during a call")
        return Sample(float(reply["seconds"]), throttled or self._device.gauges.throttled())

    def prepare(self, calls: Sequence[int], timeout_s: float) -> None:
        fresh = [n for n in calls if n not in self._prepared]
        if fresh:
            self._process.ask({"do": "prepare", "calls": fresh}, max(timeout_s, 60.0), when="before a call")
            self._prepared.update(fresh)

    def remarks(self) -> dict[str, int | str]:
        return {}

    def pin(self, cpu: int) -> None:
        """The host's processors do not matter to what the device does."""

    def end(self) -> None:
        self._process.end()

    def close(self) -> None:
        self._process.end()


def _caches() -> dict[str, str]:
    """Where compiled baselines are kept: compiling takes torch many seconds, and the next run needs the same ones."""
    base: Path = default_folder().parent / "torch"
    return {"TORCHINDUCTOR_CACHE_DIR": str(base / "inductor"), "TRITON_CACHE_DIR": str(base / "triton"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1"}  # fmt: skip
