"""The processor that the laboratory itself runs on: shared memory, our clock, NumPy and torch as baselines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.hardware import caches, cpu_model, instruction_set, memory_bytes
from kernellab.core.targets import Machine
from kernellab.targets.base import DeviceSetup, Platform, Workbench, open_workbench

if TYPE_CHECKING:
    from kernellab.build.base import Builder, Built
    from kernellab.core.settings import Settings
    from kernellab.sandbox.host import Sandbox
    from kernellab.tasks.spec import Task

OWN_TARGET = "native"
"""This very processor: what is built for where no target is named."""
_SAMPLE_S = 0.003


class CpuPlatform(Platform):
    def present(self) -> bool:
        return True

    def absent(self, what: str, fix: str) -> EnvironmentFault:
        return EnvironmentFault(what, fix)

    def baselines(self, task: Task) -> Mapping[str, Callable[..., Any]]:
        return task.baselines

    def here(self) -> str:
        return cpu_model()

    def notes(self, target: str = "") -> tuple[str, ...]:
        cores = f"{processors()} cores that may be used, {memory_bytes() / 2**30:.0f} GiB of memory"
        held = caches()
        return (f"Instruction set: {instruction_set()}", *([f"Data caches: {held}"] if held else []), cores)

    def memory_gb(self) -> float:
        return memory_bytes() / 1e9

    @property
    def listings(self) -> tuple[str, ...]:
        return ("instructions",)

    def listing(self, sandbox: Sandbox, built: Built, wanted: Sequence[str]) -> str:
        from kernellab.build.instructions import listing_of

        return listing_of(sandbox, [built.timed.code])

    def loop(self, sandbox: Sandbox, code: bytes) -> str:
        from kernellab.build.instructions import innermost_loop, listing_of

        return innermost_loop(listing_of(sandbox, [code]))

    def workbench(self, settings: Settings) -> Workbench:
        return open_workbench(self.kind, settings, _machine(settings), settings.target or "this processor")

    def open(self, settings: Settings, task: Task, torch: bool) -> DeviceSetup:
        from kernellab.measurement import baselines
        from kernellab.measurement.rig import CpuRig
        from kernellab.run import cpu
        from kernellab.run.device import describe_environment, name_for

        if settings.threads > processors():
            raise UsageError(f"{settings.threads} threads are more than the {processors()} processors that may be used here",
                             f"give --threads {processors()} or fewer; every thread timed has one of its own")  # fmt: skip
        bench = open_workbench(self.kind, settings, _machine(settings), preload=cpu.PRELOAD)
        names, missing = baselines.available(task)
        names = names if torch else [n for n in names if not n.startswith("torch")]
        ceilings = _own_builder(settings, bench)
        rig = CpuRig(bench.sandbox, ceilings, names, settings.threads, settings.sample_s or _SAMPLE_S)
        name = name_for(rig.device.name, "" if _is_own(settings) else settings.target)
        environment = describe_environment(name, bench.compilers, bench.sandbox.tier, settings.threads)
        return DeviceSetup(bench.sandbox, bench.builder, rig, environment, missing, build_jobs=settings.build_jobs)


def processors() -> int:
    """Those that this process may use: a container or taskset may leave it fewer than the machine has."""
    return len(os.sched_getaffinity(0))


def _machine(settings: Settings) -> Machine:
    return Machine("", "" if settings.target == OWN_TARGET else settings.target)


def _is_own(settings: Settings) -> bool:
    """Naming what is the default anyway makes no other device."""
    from kernellab.build.compiler import find_compiler

    machine = _machine(settings)
    if not machine.architecture:
        return True
    aimed = find_compiler(settings.compiler, machine.architecture)
    return aimed.base_flags() == find_compiler(settings.compiler).base_flags()


def _own_builder(settings: Settings, bench: Workbench) -> Builder:
    """For the ceilings: what the machine can do, whatever candidates are built for and written in."""
    from kernellab.build.c import CBuilder
    from kernellab.build.cache import open_cache
    from kernellab.build.compiler import find_compiler

    if CBuilder.backend in bench.builder.backends and not _machine(settings).architecture:
        return bench.builder  # looking for a compiler takes its time
    compiler, cache = find_compiler(settings.compiler), open_cache(settings.cache)
    return CBuilder(bench.sandbox, compiler, cache, settings.threads, settings.build_timeout_s)


CPU = CpuPlatform(
    kind="cpu",
    title="processor",
    place="the processor",
    trust="native",
    architecture="cpu",
    example=Machine("a processor", "cpu", 1),
    gauntlet="c",
    launch_s=5e-7,
    elsewhere="leave --device out for the processor",
    instead="give a C kernel with --candidate FILE, or take the float32 task (--dtype f32), which has C kernels",
)
