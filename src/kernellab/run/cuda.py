"""The GPU: one disposable runner process at a time, replaced after every fault, time-out, or when a fresh one is wanted.

The laboratory's process has a context of its own, in which buffers are filled and answers compared; the runner has
another, in which candidates run. What they share is the memory of the inputs and outputs, and nothing else.
Trust level device-only: no candidate code runs on the host.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence
from typing import Any

from kernellab.build.base import Built
from kernellab.build.cache import CodeCache
from kernellab.build.plan import FloatArg, IntArg, Plan
from kernellab.core.errors import EnvironmentFault
from kernellab.core.ids import canonical_json, digest
from kernellab.core.records import Trust
from kernellab.run.base import Call, Memory, Sample, WorkerFault
from kernellab.run.cuda_kernels import SOURCE, Kernels, compile_own
from kernellab.run.cuda_process import Process, files_of, gpu_environment
from kernellab.run.device_arena import DeviceArena, Keeper
from kernellab.run.driver import Context, DriverFault
from kernellab.run.gauges import Gauges
from kernellab.sandbox.host import Sandbox

PRELOAD = ("kernellab.run.cuda_serve",)
_BOOT_S = 60.0
_LOAD_S = 20.0


class CudaDevice:
    """One GPU. Buffers made by `memory` are mapped into whichever runner is alive."""

    kind = "cuda"
    slowness = 0.0
    thrifty = True
    trust: Trust = "device-only"

    def __init__(self, cache: CodeCache, index: int = 0, vram_bytes: int = 0) -> None:
        try:
            self.context = Context(index)
        except (DriverFault, RuntimeError) as err:
            raise EnvironmentFault(f"the GPU does not answer: {err}", "check the driver, or use --device cpu") from None
        self.properties = self.context.properties()
        self.target = self.properties.target
        self.name = f"{self.properties.name} ({self.target}, {self.properties.processors} SMs)"
        self.gauges = Gauges(index)
        self.vram_bytes = vram_bytes or self.properties.memory_bytes // 2
        self.gpu_s = 0.0
        self._cubin = _own_kernels(cache, self.target)
        self.keeper = Keeper(self.context, Kernels(self._cubin))
        self.host = Sandbox("T0", PRELOAD, environment=gpu_environment())
        self._numbers = 0
        self._process: Process | None = None
        self._spawn()

    @property
    def setup(self) -> dict[str, Any]:
        """What a GPU process of the laboratory is told."""
        facts = self.properties
        return {"index": self.context.index, "l2_bytes": facts.l2_bytes, "processors": facts.processors,
                "shared_limit": facts.shared_limit}  # fmt: skip

    @property
    def own_kernels(self) -> bytes:
        return self._cubin

    def memory(self, name: str, seed: bytes) -> DeviceArena:
        return DeviceArena(self.keeper, name, seed, self._forget)

    def start(
        self, built: Built, inputs: Memory, outputs: Memory, calls: Sequence[Call], wait: bool = True
    ) -> CudaRunner:
        assert isinstance(inputs, DeviceArena)
        assert isinstance(outputs, DeviceArena)
        bound = {built.number(call.dims) for call in calls}  # each of their plans has scratch of its own
        needed = sum(sum(built.plans[number].scratch) for number in bound)
        if needed + inputs.size + outputs.size > self.vram_bytes:
            raise WorkerFault("memory", f"needs {needed / 1e9:.2f} GB of scratch beside its buffers; the quota is "
                              f"{self.vram_bytes / 1e9:.2f} GB of GPU memory")  # fmt: skip
        process = self._alive()
        numbers = [self._map(process, inputs, writable=False), self._map(process, outputs, writable=True)]
        self._numbers += 1
        return CudaRunner(self, process, self._numbers, _setup(built, calls, numbers), b"".join(built.codes))

    def fresh(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None

    def expect(self, runners: int) -> None:
        """Its process serves one artifact after another."""

    def close(self) -> None:
        self.fresh()
        self.host.close()

    def _alive(self) -> Process:
        if self._process is None or not self._process.alive:
            self._spawn()
        assert self._process is not None
        return self._process

    def _spawn(self) -> None:
        with files_of(canonical_json(self.setup), self._cubin) as files:
            self._process = Process(self.host, "kernellab.run.cuda_serve:main", files, _BOOT_S)

    def _map(self, process: Process, arena: DeviceArena, writable: bool) -> int:
        if arena.serial not in process.mapped:
            request = {"do": "map", "arena": arena.serial, "size": arena.size, "writable": writable}
            process.ask(request, _LOAD_S, [arena.fd])
            process.mapped.add(arena.serial)
        return arena.serial

    def _forget(self, serial: int) -> None:
        """An arena is closed: the runner lets go of it too, or its memory would stay taken."""
        if self._process is not None and self._process.alive and serial in self._process.mapped:
            self._process.mapped.discard(serial)
            with contextlib.suppress(WorkerFault):
                self._process.ask({"do": "unmap", "arena": serial}, _LOAD_S)


class CudaRunner:
    """One artifact in the runner process, its calls bound. Closing it unloads the machine code."""

    def __init__(self, device: CudaDevice, process: Process, number: int, setup: dict[str, Any], code: bytes) -> None:
        self._device, self._process, self._number = device, process, number
        self._prepared: set[int] = set()
        self.resources: dict[str, dict[str, int]] = {}
        self.outside_s: list[float] = []
        try:
            with files_of(canonical_json(setup), code) as files:
                reply = process.ask({"do": "load", "number": number}, _LOAD_S, files, "while it was loaded")
            self.resources = reply["resources"]
        except WorkerFault:
            self.close()
            raise

    def ready(self) -> CudaRunner:
        return self

    def run(self, calls: Sequence[int], timeout_s: float, counted: bool = False, steady: bool = False) -> Sample:
        self.prepare(calls, timeout_s)
        throttled = counted and self._device.gauges.throttled()
        started = time.perf_counter()
        request = {"do": "run", "number": self._number, "calls": list(calls), "timed": counted}
        reply = self._process.ask(request, timeout_s, when="during a call")
        wall = time.perf_counter() - started
        self._device.gpu_s += reply.get("seconds", wall)
        if not counted:
            return Sample(wall, False)
        seconds = float(reply["seconds"])
        self.outside_s.append(wall - seconds - float(reply["held"]))
        return Sample(seconds, throttled or self._device.gauges.throttled())

    def remarks(self) -> dict[str, int | str]:
        """What the laboratory's own clock saw beyond the device's: a device clock that was tampered with would show."""
        return {"outside_clock_us": round(1e6 * statistics.median(self.outside_s))} if self.outside_s else {}

    def interrupt(self, calls: Sequence[int], after_s: float) -> bool:
        return False

    def begin(self, calls: Sequence[int], scrub: bool = True) -> bool:
        return False

    def prepare(self, calls: Sequence[int], timeout_s: float) -> float:
        fresh = [n for n in calls if n not in self._prepared]
        if fresh:
            self._process.ask(
                {"do": "prepare", "number": self._number, "calls": fresh}, timeout_s, when="before a call"
            )
            self._prepared.update(fresh)
        return 0.0

    def pin(self, cpu: int) -> None:
        """The host's processors do not matter to what the device does."""

    def end(self) -> None:
        """The process stays for the next artifact."""

    def close(self) -> None:
        if self._process.alive:
            with contextlib.suppress(WorkerFault):
                self._process.ask({"do": "unload", "number": self._number}, _LOAD_S)


def _own_kernels(cache: CodeCache, target: str) -> bytes:
    key = digest(["own kernels", SOURCE, target])
    cubin = cache.get(key)
    if cubin is None:
        cubin = compile_own(target)
        cache.put(key, cubin)
    return cubin


def _setup(built: Built, calls: Sequence[Call], numbers: Sequence[int]) -> dict[str, Any]:
    bound = []
    for call in calls:
        buffers = [[numbers[0], r.data] for r in call.inputs] + [[numbers[1], r.data] for r in call.outputs]
        bound.append({"plan": built.number(call.dims), "buffers": buffers})
    plans = [plan_data(part.plan) | {"bundle": built.codes.index(part.code)} for part in built.parts]
    return {"bundles": [len(code) for code in built.codes], "plans": plans, "calls": bound}


def plan_data(plan: Plan) -> dict[str, Any]:
    steps = []
    for step in plan.steps:
        args = [[a.kind, a.value if isinstance(a, (IntArg, FloatArg)) else a.index] for a in step.args]
        steps.append({"kernel": step.kernel, "grid": step.grid, "block": step.block, "shared": step.shared,
                      "cluster": step.cluster, "cooperative": step.cooperative, "args": args})  # fmt: skip
    return {"scratch": plan.scratch, "zeroed": plan.zeroed, "steps": steps}
