"""NVIDIA GPUs: GPU memory, events on the device, torch as baselines; NVRTC and Triton build without one."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.targets import Machine
from kernellab.targets.base import DeviceSetup, Platform, Profiler, Sanitizer, Workbench, open_workbench
from kernellab.targets.cuda_occupancy import limits, occupancy

if TYPE_CHECKING:
    from kernellab.build.base import Built
    from kernellab.core.settings import Settings
    from kernellab.sandbox.host import Sandbox
    from kernellab.tasks.spec import Task

_PROCESSORS = {"sm_90": 132, "sm_90a": 132}  # what a candidate is told of a device that is not there
_NAMED = re.compile(r"(sm_\d+)(\w*)(?:, (\d+) SMs)?")


class CudaPlatform(Platform):
    def present(self) -> bool:
        from kernellab.run import driver

        return driver.present()

    def absent(self, what: str, fix: str) -> EnvironmentFault:
        if os.path.exists("/dev/nvidiactl") and importlib.util.find_spec("cuda") is None:
            return EnvironmentFault(f"{what}: the CUDA bindings are not installed", "pip install 'kernellab[cuda]'")
        fix = f"use a machine with an NVIDIA GPU and its driver ('nvidia-smi' lists it); or {fix}"
        return EnvironmentFault(what, fix)

    def baselines(self, task: Task) -> Mapping[str, Callable[..., Any]]:
        return task.gpu_baselines

    def here(self) -> str:
        return "an NVIDIA GPU"

    def notes(self, target: str = "") -> tuple[str, ...]:
        from kernellab.run import driver

        told = []
        if driver.present():
            found = driver.Context().properties()
            target = target or found.target
            size = f"L2 {found.l2_bytes >> 20} MiB, {found.memory_bytes >> 30} GiB of memory"
            told.append(f"{found.name}: {found.processors} multiprocessors, {size}")
        return (*told, *limits(target or self.architecture))

    def memory_gb(self) -> float:
        from kernellab.run import driver

        return float(driver.Context().properties().memory_bytes) / 1e9

    def machine(self, device: str) -> Machine | None:
        found = _NAMED.search(device)
        return Machine(device, found[1] + found[2], int(found[3] or 0), found[1]) if found else None

    def occupancy(self, device: str, threads: int, resources: Mapping[str, int]) -> float:
        found = self.machine(device)
        return occupancy(found.generation, threads, resources) if found else 0.0

    def workbench(self, settings: Settings) -> Workbench:
        """For the target asked for, else for the GPU that is here, else for a Hopper one."""
        from kernellab.run import driver

        target, count = settings.target, 0
        if not target and driver.present():
            found = driver.Context().properties()
            target, count = found.target, found.processors
        target = target or self.architecture
        return open_workbench(self.kind, settings, Machine("", target, count or _PROCESSORS.get(target, 0)))

    def open(self, settings: Settings, task: Task, torch: bool) -> DeviceSetup:
        from kernellab.build.cache import open_cache
        from kernellab.measurement import gpu_baselines
        from kernellab.measurement.cuda_rig import SAMPLE_S, CudaRig
        from kernellab.run.cuda import CudaDevice
        from kernellab.run.device import describe_environment

        if not self.present():
            raise self.absent(
                "this run is on a GPU, and none answers here", "look at it with 'klab show' and 'klab audit'"
            )
        device = CudaDevice(open_cache(settings.cache), vram_bytes=int(settings.vram_gb * 1e9))
        if settings.target not in ("", device.target):
            raise UsageError(f"code for {settings.target} does not run on this GPU, which is {device.target}",
                             "leave --target out; 'klab build' builds for others")  # fmt: skip
        bench = open_workbench(self.kind, settings, Machine(device.name, device.target, device.properties.processors))
        names, missing = gpu_baselines.available(task)
        names = names if torch else [n for n in names if not n.startswith("torch.") or n == "torch.eager"]
        rig = CudaRig(device, bench.builder, names, settings.sample_s or SAMPLE_S)
        facts = {**device.gauges.facts(), "cuda": str(device.properties.driver)}
        environment = describe_environment(device.name, bench.compilers, bench.sandbox.tier, 1, facts, self.packages)
        jobs = settings.build_jobs or os.cpu_count() or 1
        return DeviceSetup(bench.sandbox, bench.builder, rig, environment, missing, rig.crew, jobs)

    def kernels(self, built: Built) -> list[dict[str, Any]]:
        """Registers, local and shared bytes, and whether the timed shape uses it."""
        from kernellab.build.bundle import unpack
        from kernellab.build.cubin import audit

        timed = {step.kernel for step in built.timed.plan.steps}
        rows: dict[str, dict[str, Any]] = {}
        for bundle in map(unpack, built.codes):
            for name, (module, symbol) in bundle.kernels.items():
                if name not in rows:
                    facts = audit(bundle.modules[module]).kernels[symbol]
                    rows[name] = {"kernel": name, "symbol": symbol, "timed": name in timed, "registers": facts.registers,
                                  "local_bytes": facts.local_bytes, "shared_bytes": facts.shared_bytes,
                                  "code_bytes": facts.code_bytes}  # fmt: skip
        return sorted(rows.values(), key=lambda row: not row["timed"])

    @property
    def listings(self) -> tuple[str, ...]:
        return "ptx", "sass"

    def listing(self, sandbox: Sandbox, built: Built, wanted: Sequence[str]) -> str:
        parts = [built.listing] if "ptx" in wanted else []
        if "sass" in wanted:
            text = self.disassembly(sandbox, built)
            if not text:
                raise EnvironmentFault("no instructions can be listed: nvdisasm is missing or cannot read the module",
                                       "put the CUDA toolkit's bin folder on the PATH, or ask for --ptx")  # fmt: skip
            parts.append(text)
        return "\n".join(parts)

    def disassembly(self, sandbox: Sandbox, built: Built) -> str:
        from kernellab.build.triton import sass_of

        return sass_of(sandbox, built.codes)

    def sanitizer(self) -> Sanitizer | None:
        from kernellab.verdict import sanitize

        return sanitize

    def profiler(self) -> Profiler | None:
        from kernellab.measurement.profile import profile

        return profile

    def survey(self) -> dict[str, str]:
        from kernellab.build import nvrtc_job, triton
        from kernellab.run import driver
        from kernellab.run.alone import find_tool

        device = "none: kernels for it can be built, not run"
        if driver.present():
            facts = driver.Context().properties()
            device = f"{facts.name} ({facts.target}, {facts.processors} SMs, {facts.memory_bytes / 2**30:.0f} GiB)"
        return {
            "gpu": device,
            "triton": triton.missing() or triton.version(),
            "nvrtc": nvrtc_job.PROBLEM or nvrtc_job.VERSION,
            "ncu": find_tool("ncu") or "not found: --profile falls back to timings",
            "sanitizer": find_tool("compute-sanitizer") or "not found: --sanitize is not available",
        }


CUDA = CudaPlatform(
    kind="cuda",
    title="GPU",
    place="a GPU",
    trust="device-only",
    architecture="sm_90",
    example=Machine("NVIDIA H200", "sm_90", 132),
    accelerator=True,
    sizes="cuda",
    gauntlet="gpu",
    torch="cuda",
    launch_s=5e-6,
    packages=("triton", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-ml-py"),
    facts={"driver": "driver", "cuda": "CUDA driver API"},
    elsewhere="'klab build FILE --task NAME --target sm_90' builds a GPU kernel and runs nothing",
    instead="give a Triton or CUDA C++ kernel (docs/candidates.md)",
)
