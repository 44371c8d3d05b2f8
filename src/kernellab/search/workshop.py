"""Opening what a device needs: sandbox, builders, rig. One function for each kind of device; the rest is the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernellab.build import c as c_backend
from kernellab.build.base import Builder, Candidate
from kernellab.build.c import CBuilder
from kernellab.build.cache import CodeCache, default_folder
from kernellab.build.compiler import find_compiler
from kernellab.build.router import DEVICE_OF, Router, backend_of
from kernellab.core.errors import EnvironmentFault
from kernellab.core.settings import Settings
from kernellab.measure import baselines
from kernellab.measure.rig import CpuRig, Rig
from kernellab.run import cpu
from kernellab.run.device import describe_environment
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Task

_CPU_SAMPLE_S = 0.003


@dataclass
class Workshop:
    """`build_jobs`: how many builds may run ahead of the measurements (0: none, where they would disturb them)."""

    sandbox: Sandbox
    builder: Builder
    rig: Rig
    environment: dict[str, Any]
    missing: dict[str, str] = field(default_factory=dict)
    crew: Crew | None = None
    build_jobs: int = 0

    def gpu_seconds(self) -> float:
        return float(getattr(self.rig.device, "gpu_s", 0.0))

    def close(self) -> None:
        self.rig.close()
        self.sandbox.close()


def choose_device(settings: Settings, candidates: Sequence[Candidate], builtin: Sequence[str] = ()) -> Settings:
    """Settle "auto": the GPU where there is one and something to run on it, the processor otherwise.

    `builtin`: the devices for which the task has built-in candidates.
    """
    wanted = settings.device
    if wanted == "auto":
        given = {DEVICE_OF[backend_of(c.text)] for c in candidates}
        usable = given or set(builtin)
        wanted = "cuda" if "cuda" in usable and _gpu_present() else "cpu"
        if wanted == "cpu" and "cpu" not in usable | set(builtin):
            raise EnvironmentFault("these candidates are for a GPU, and there is none here",
                                   "'klab build FILE --task NAME --target sm_90' builds one without")  # fmt: skip
    return settings.model_copy(update={"device": wanted})


def _gpu_present() -> bool:
    from kernellab.run import driver

    return driver.present()


def open_workshop(settings: Settings, task: Task, torch: bool = True) -> Workshop:
    """`torch`: whether its baselines are wanted."""
    return open_cuda(settings, task, torch) if settings.device == "cuda" else open_cpu(settings, task, torch)


def open_cpu(settings: Settings, task: Task, torch: bool) -> Workshop:
    compiler = find_compiler(settings.compiler)
    preload = (*c_backend.PRELOAD, *cpu.PRELOAD)
    sandbox = open_sandbox(settings.sandbox, preload, compiler.trees, compiler.self_exe)
    c_builder = CBuilder(sandbox, compiler, _cache(settings), settings.threads, settings.build_timeout_s)
    builder = Router("cpu", {"c": c_builder}, {})
    names, missing = baselines.available(task)
    names = names if torch else [n for n in names if not n.startswith("torch")]
    rig = CpuRig(sandbox, builder, names, settings.threads, settings.sample_s or _CPU_SAMPLE_S)
    environment = describe_environment(rig.device.name, compiler.identity, sandbox.tier, settings.threads)
    return Workshop(sandbox, builder, rig, environment, missing, build_jobs=settings.build_jobs)


def open_cuda(settings: Settings, task: Task, torch: bool) -> Workshop:
    from kernellab.measure import gpu_baselines
    from kernellab.measure.cuda_rig import SAMPLE_S, CudaRig
    from kernellab.run.cuda import CudaDevice

    cache = _cache(settings)
    device = CudaDevice(cache, vram_bytes=int(settings.vram_gb * 1e9))
    sandbox, builder, compiler = open_gpu_builders(settings, device.target, device.properties.processors)
    names, missing = gpu_baselines.available(task)
    names = names if torch else [n for n in names if not n.startswith("torch.") or n == "torch.eager"]
    rig = CudaRig(device, builder, names, settings.sample_s or SAMPLE_S)
    facts = {**device.gauges.facts(), "cuda": str(device.properties.driver)}
    environment = describe_environment(device.name, compiler, sandbox.tier, 1, facts)
    jobs = settings.build_jobs or os.cpu_count() or 1
    return Workshop(sandbox, builder, rig, environment, missing, rig.crew, jobs)


def open_gpu_builders(settings: Settings, target: str, processors: int = 0) -> tuple[Sandbox, Router, str]:
    """The sandbox and builders for Triton and CUDA C++; needs no GPU. The third is the compilers' identity."""
    from kernellab.build import cuda as cuda_backend
    from kernellab.build import triton as triton_backend

    preload = tuple(dict.fromkeys((*triton_backend.PRELOAD, *cuda_backend.PRELOAD)))
    sandbox = open_sandbox(settings.sandbox, preload, cuda_backend.header_folders())
    cache, timeout = _cache(settings), settings.build_timeout_s
    properties = {"multiprocessor_count": processors} if processors else None
    triton = triton_backend.TritonBuilder(sandbox, cache, target, timeout, properties)
    cuda = cuda_backend.CudaBuilder(sandbox, cache, target, timeout)
    missing = {
        name: reason
        for name, reason in (("triton", triton_backend.missing()), ("cuda", cuda_backend.missing(sandbox)))
        if reason
    }
    builders: dict[str, Builder] = {"triton": triton, "cuda": cuda}
    usable = {name: builder for name, builder in builders.items() if name not in missing}
    identity = f"triton {triton_backend.version() or 'absent'}, NVRTC for {cuda.target}"
    return sandbox, Router("cuda", usable, missing), identity


def _cache(settings: Settings) -> CodeCache:
    return CodeCache(default_folder() if settings.cache else None)
