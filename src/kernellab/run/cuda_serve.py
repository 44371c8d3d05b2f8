"""The GPU runner's loop: maps the laboratory's buffers, loads machine code, replays plans when told to.

No candidate code runs on the host here: modules are data for the driver, plans are data for this loop. The laboratory
believes nothing it says but the seconds, and keeps beside them what its own clock says: a kernel that found a way into
this process would reach the outputs, and those are judged elsewhere.
Covered: launch errors and sticky faults are replies; a hang is ended from outside with the process. Every sample starts
from the same memory: scratch is filled, static memory is put back and compared (cuda_static.py), what earlier launches
left in the processors is overwritten (cuda_scrub.py).
Not covered: bugs of the driver that a hostile module could use (this process is not confined).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernellab.build.bundle import Bundle, unpack
from kernellab.run.cuda_clock import Clock
from kernellab.run.cuda_kernels import Kernels
from kernellab.run.cuda_process import serve
from kernellab.run.cuda_scrub import Scrub
from kernellab.run.cuda_static import StaticMemory, StaticMemoryChanged, static_memory
from kernellab.run.driver import Context, DriverFault, Kernel, call, launch


@dataclass
class Launch:
    """One step of a plan, bound to its buffers."""

    kernel: Kernel
    grid: list[int]
    block: list[int]
    parameters: Any
    alive: list[Any]
    shared: int
    cluster: list[int] | None
    cooperative: bool

    def queue(self, stream: Any) -> None:
        launch(self.kernel, self.grid, self.block, self.parameters, stream, self.shared, self.cluster,
               self.cooperative)  # fmt: skip


@dataclass
class Bound:
    """One call: scratch to be zeroed, launches, and (for more than one) the graph that replays them."""

    zeroed: list[tuple[int, int]]
    launches: list[Launch]
    graph: Any = None

    @property
    def nodes(self) -> int:
        return 1 if self.graph is not None else len(self.zeroed) + len(self.launches)

    def uses(self, module: Any) -> bool:
        return any(step.kernel.module is module for step in self.launches)


@dataclass
class Loaded:
    """An artifact: its modules, the scratch of its plans (address, size, allocation), its calls, and which of its modules
    have memory that outlives a call."""

    modules: list[Any]
    scratch: list[tuple[int, int, Any]] = field(default_factory=list)
    calls: list[Bound] = field(default_factory=list)
    static: list[StaticMemory] = field(default_factory=list)


class Server:
    def __init__(self, setup: dict[str, Any], cubin: bytes) -> None:
        self._context = Context(setup["index"])
        kernels = Kernels(cubin)
        self._clock = Clock(self._context, kernels, setup["l2_bytes"])
        self._scrub = Scrub(self._context, kernels, setup["processors"], setup["shared_limit"])
        self._arenas: dict[int, tuple[int, int, Any]] = {}
        self._loaded: dict[int, Loaded] = {}

    def answer(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        action: Callable[..., dict[str, Any]] = getattr(self, f"_do_{request.pop('do')}")
        return action(fds=fds, **request)

    def _do_map(self, fds: list[int], arena: int, size: int, writable: bool) -> dict[str, Any]:
        handle = self._context.adopt(fds[0])
        self._arenas[arena] = (self._context.map(handle, size, writable), size, handle)
        return {}

    def _do_unmap(self, fds: list[int], arena: int) -> dict[str, Any]:
        self._context.unmap(*self._arenas.pop(arena))
        return {}

    def _do_load(self, fds: list[int], number: int) -> dict[str, Any]:
        """Descriptors: the plans with their calls, the bundles one after the other."""
        setup = json.loads(contents(fds[0]))
        loaded = Loaded([])
        self._loaded[number] = loaded
        modules = Modules(loaded.modules)
        modules.load(contents(fds[1]), setup["bundles"])
        loaded.static = modules.static(self._context)
        resources: dict[str, dict[str, int]] = {}
        scratch: dict[int, list[int]] = {}
        for bound in setup["calls"]:
            plan = setup["plans"][bound["plan"]]
            if bound["plan"] not in scratch:
                addresses = [self._scratch(loaded, size) for size in plan["scratch"]]
                scratch[bound["plan"]] = addresses
            work = scratch[bound["plan"]]
            buffers = [self._arenas[arena][0] + offset for arena, offset in bound["buffers"]]
            zeroed = [(work[i], plan["scratch"][i]) for i in plan["zeroed"]]
            launches = []
            for step in plan["steps"]:
                kernel = modules.kernel(plan["bundle"], step["kernel"])
                if step["kernel"] not in resources:
                    resources[step["kernel"]] = kernel.resources()
                launches.append(bind(kernel, step, buffers, work))
            loaded.calls.append(Bound(zeroed, launches))
        return {"resources": resources}

    def _do_prepare(self, fds: list[int], number: int, calls: list[int]) -> dict[str, Any]:
        """Graphs for calls of several launches."""
        self._capture_all([self._loaded[number].calls[index] for index in calls])
        self._context.synchronize()
        return {}

    def _do_run(self, fds: list[int], number: int, calls: list[int], timed: bool) -> dict[str, Any]:
        loaded = self._loaded[number]
        bound = [loaded.calls[index] for index in calls]
        self._forget(loaded, bound)
        if timed:
            seconds = self._clock.time(lambda: self._queue(bound))
        else:
            self._queue(bound)
            self._context.synchronize()
        for memory in loaded.static:
            memory.compare(used=any(b.uses(memory.module) for b in bound))
        return {"seconds": seconds, "held": self._clock.held_s} if timed else {}

    def _forget(self, loaded: Loaded, bound: list[Bound]) -> None:
        """Nothing is left from earlier calls that these could read."""
        for address, size, _ in loaded.scratch:
            self._context.fill(address, 0xFF, 1, size)
        for memory in loaded.static:
            if memory.spans is None:
                self._load_again(loaded, memory)
            else:
                memory.put_back()
        if loaded.static:
            self._capture_all(bound)
        self._scrub.run(local=any(step.kernel.local_bytes for b in bound for step in b.launches))

    def _load_again(self, loaded: Loaded, memory: StaticMemory) -> None:
        """A fresh copy of a module in the place of the old one: its kernels move over, graphs that name them go."""
        old, memory.module = memory.module, call("cuModuleLoadData", memory.cubin)
        loaded.modules[:] = [memory.module if m is old else m for m in loaded.modules]
        for bound in loaded.calls:
            if bound.graph is not None and bound.uses(old):
                call("cuGraphExecDestroy", bound.graph)
                bound.graph = None
        for kernel in {id(s.kernel): s.kernel for b in loaded.calls for s in b.launches}.values():
            if kernel.module is old:
                kernel.move(memory.module)
        call("cuModuleUnload", old)

    def _do_unload(self, fds: list[int], number: int) -> dict[str, Any]:
        loaded = self._loaded.pop(number)
        self._context.synchronize()
        for bound in loaded.calls:
            if bound.graph is not None:
                call("cuGraphExecDestroy", bound.graph)
        for module in loaded.modules:
            call("cuModuleUnload", module)
        for address, size, handle in loaded.scratch:
            self._context.unmap(address, size, handle)
        return {}

    def _queue(self, calls: list[Bound]) -> None:
        for bound in calls:
            if bound.graph is not None:
                call("cuGraphLaunch", bound.graph, self._context.stream)
            else:
                self._steps(bound)

    def _steps(self, bound: Bound) -> None:
        for address, size in bound.zeroed:
            self._context.fill(address, 0, 1, size)
        for step in bound.launches:
            step.queue(self._context.stream)

    def _capture_all(self, calls: list[Bound]) -> None:
        for bound in calls:
            if bound.graph is None and bound.nodes > 1:
                self._capture(bound)

    def _capture(self, bound: Bound) -> None:
        stream = self._context.stream
        call("cuStreamBeginCapture", stream, 2)  # relaxed: one thread, one stream
        try:
            self._steps(bound)
        except DriverFault:
            with contextlib.suppress(DriverFault):  # the first fault is the one to tell
                call("cuStreamEndCapture", stream)
            raise
        graph = call("cuStreamEndCapture", stream)
        bound.graph = call("cuGraphInstantiate", graph, 0)
        call("cuGraphDestroy", graph)
        call("cuGraphUpload", bound.graph, stream)

    def _scratch(self, loaded: Loaded, size: int) -> int:
        """Whole pages with holes on either side, all of them filled before a sample: no neighbour to keep anything in."""
        handle, whole = self._context.create(size)
        address = self._context.map(handle, whole)
        loaded.scratch.append((address, whole, handle))
        return address


class Modules:
    """The modules of several bundles that lie one after the other, and the kernels in them.

    A module that several bundles hold is loaded once, and its kernels with it: what one launch sets of a function (shared
    memory) holds for every launch. `handles` grows as modules are loaded, so that a fault leaves none behind.
    """

    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles
        self._numbers: dict[bytes, int] = {}
        self._bundles: list[Bundle] = []
        self._kernels: dict[tuple[int, str], Kernel] = {}

    def load(self, data: bytes, sizes: Sequence[int]) -> None:
        at = 0
        for size in sizes:
            bundle = unpack(data[at : at + size])
            at += size
            for module in bundle.modules:
                if module not in self._numbers:
                    self._handles.append(call("cuModuleLoadData", module))
                    self._numbers[module] = len(self._handles) - 1
            self._bundles.append(bundle)

    def static(self, context: Context) -> list[StaticMemory]:
        """What of them outlives a call."""
        return static_memory(context, list(self._numbers), self._handles)

    def kernel(self, bundle: int, name: str) -> Kernel:
        """What a plan of this bundle calls by this name."""
        module, symbol = self._bundles[bundle].kernels[name]
        place = self._numbers[self._bundles[bundle].modules[module]], symbol
        if place not in self._kernels:
            self._kernels[place] = Kernel(self._handles[place[0]], symbol)
        return self._kernels[place]


def bind(kernel: Kernel, step: dict[str, Any], buffers: list[int], work: list[int]) -> Launch:
    values: list[int | float] = []
    for kind, value in step["args"]:
        values.append(buffers[value] if kind == "buffer" else work[value] if kind == "scratch" else value)
    try:
        parameters, alive = kernel.pack(values)
    except ValueError as err:
        raise ValueError(f"{step['kernel']} {err}") from None
    kernel.allow_shared(step["shared"])
    return Launch(kernel, step["grid"], step["block"], parameters, alive, step["shared"], step["cluster"],
                  step["cooperative"])  # fmt: skip


def contents(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


def fault_of(err: Exception) -> dict[str, Any]:
    """What went wrong, in the judge's words."""
    if isinstance(err, StaticMemoryChanged):
        return {"fault": "static-memory", "reason": str(err), "when": ""}
    if isinstance(err, (ValueError, KeyError, IndexError)):
        return {"fault": "plan", "reason": str(err)}
    if not isinstance(err, DriverFault):
        raise err
    if err.name == "CUDA_ERROR_OUT_OF_MEMORY":
        return {"fault": "memory", "reason": f"the GPU has too little memory: {err}"}
    if not err.sticky:
        return {"fault": "plan", "reason": f"cannot be launched: {err}"}
    return {"fault": "crash", "reason": f"the GPU reports: {err}", "lost": True}


def main(fds: list[int]) -> int:
    """Entry: the control socket, the set-up, the laboratory's own kernels."""
    control = socket.socket(fileno=fds[0])
    try:
        server = Server(json.loads(contents(fds[1])), contents(fds[2]))
        control.send(json.dumps({"ready": os.getpid()}).encode())
    except DriverFault as err:
        control.send(json.dumps({"reason": str(err)}).encode())
        return 1
    return serve(control, server.answer, fault_of)
