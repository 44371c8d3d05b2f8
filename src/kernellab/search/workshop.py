"""Opening what a device needs: sandbox, builders, rig. One function for each kind of device; the rest is the same."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernellab.build import c as c_backend
from kernellab.build.base import Builder, Candidate
from kernellab.build.c import CBuilder
from kernellab.build.cache import CodeCache, default_folder
from kernellab.build.compiler import Compiler, find_compiler
from kernellab.build.router import DEVICE_OF, Router, backend_of
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.settings import Settings
from kernellab.measure import baselines
from kernellab.measure.rig import CpuRig, Rig
from kernellab.run import cpu
from kernellab.run.device import describe_environment, name_for
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Task

_CPU_SAMPLE_S = 0.003
OWN_TARGET = "native"
"""This very processor: what is built for where no target is named."""


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


def choose_device(
    settings: Settings, candidates: Sequence[Candidate], builtin: Sequence[str] = (), task: str = ""
) -> Settings:
    """Settle "auto": the GPU where there is one and something to run on it, the processor otherwise.

    `builtin`: the devices for which the task has built-in candidates. What cannot run is refused here, before any work.
    """
    given = {DEVICE_OF[backend_of(c.text)] for c in candidates}
    usable = given | set(builtin)
    wanted = settings.device
    if wanted == "auto":
        wanted = "cuda" if "cuda" in (given or usable) and _gpu_present() else "cpu"
        if usable == {"cuda"} and wanted == "cpu":
            raise _no_gpu(f"{_named(candidates, task)} for a GPU, and none answers here", _instead(candidates))
    elif usable and wanted not in usable:
        other = "a GPU" if "cuda" in usable else "the processor"
        raise UsageError(f"{_named(candidates, task)} for {other}, which --device {wanted} is not",
                         f"leave --device out; or {_instead(candidates, wanted)}")  # fmt: skip
    elif wanted == "cuda" and not _gpu_present():
        fix = "leave --device out for the processor" if "cpu" in usable else _instead(candidates)
        raise _no_gpu("--device cuda needs an NVIDIA GPU, and none answers here", fix)
    return settings.model_copy(update={"device": wanted})


def _named(candidates: Sequence[Candidate], task: str) -> str:
    if not candidates:
        return f"the built-in kernels of {task or 'this task'} are"
    names = ", ".join(c.name for c in candidates)
    return f"{names} is" if len(candidates) == 1 else f"{names} are"


def _instead(candidates: Sequence[Candidate], wanted: str = "cpu") -> str:
    """What a user may do who has no such device."""
    if wanted == "cuda":
        return "give a Triton or CUDA C++ kernel (docs/candidates.md)"
    if candidates:
        return "'klab build FILE --task NAME --target sm_90' builds a GPU kernel and runs nothing"
    return "give a C kernel with --candidate FILE, or take the float32 task (--dtype f32), which has C kernels"


def _no_gpu(what: str, fix: str) -> EnvironmentFault:
    if os.path.exists("/dev/nvidiactl") and importlib.util.find_spec("cuda") is None:
        return EnvironmentFault(f"{what}: the CUDA bindings are not installed", "pip install 'kernellab[cuda]'")
    return EnvironmentFault(what, f"use a machine with an NVIDIA GPU and its driver ('nvidia-smi' lists it); or {fix}")


def _gpu_present() -> bool:
    from kernellab.run import driver

    return driver.present()


def open_workshop(settings: Settings, task: Task, torch: bool = True) -> Workshop:
    """`torch`: whether its baselines are wanted."""
    return open_cuda(settings, task, torch) if settings.device == "cuda" else open_cpu(settings, task, torch)


def processors() -> int:
    """Those that this process may use: a container or taskset may leave it fewer than the machine has."""
    return len(os.sched_getaffinity(0))


def open_cpu(settings: Settings, task: Task, torch: bool) -> Workshop:
    if settings.threads > processors():
        raise UsageError(f"{settings.threads} threads are more than the {processors()} processors that may be used here",
                         f"give --threads {processors()} or fewer; every thread timed has one of its own")  # fmt: skip
    native = find_compiler(settings.compiler)
    own = settings.target in ("", OWN_TARGET)
    compiler = native if own else find_compiler(settings.compiler, settings.target)
    preload = (*c_backend.PRELOAD, *cpu.PRELOAD)
    sandbox = open_sandbox(settings.sandbox, preload, compiler.trees, compiler.self_exe)

    def router(chosen: Compiler) -> Router:
        built = CBuilder(sandbox, chosen, open_cache(settings), settings.threads, settings.build_timeout_s)
        return Router("cpu", {"c": built}, {})

    builder = router(compiler)
    names, missing = baselines.available(task)
    names = names if torch else [n for n in names if not n.startswith("torch")]
    ceilings = router(native)  # what the machine can do, whatever it is that candidates are built for
    rig = CpuRig(sandbox, ceilings, names, settings.threads, settings.sample_s or _CPU_SAMPLE_S)
    same = compiler.base_flags() == native.base_flags()  # naming what is the default anyway makes no other device
    name = name_for(rig.device.name, "" if same else settings.target)
    environment = describe_environment(name, compiler.identity, sandbox.tier, settings.threads)
    return Workshop(sandbox, builder, rig, environment, missing, build_jobs=settings.build_jobs)


def open_cuda(settings: Settings, task: Task, torch: bool) -> Workshop:
    from kernellab.measure import gpu_baselines
    from kernellab.measure.cuda_rig import SAMPLE_S, CudaRig
    from kernellab.run.cuda import CudaDevice

    if not _gpu_present():
        raise _no_gpu("this run is on a GPU, and none answers here", "look at it with 'klab show' and 'klab audit'")
    cache = open_cache(settings)
    device = CudaDevice(cache, vram_bytes=int(settings.vram_gb * 1e9))
    if settings.target not in ("", device.target):
        raise UsageError(f"code for {settings.target} does not run on this GPU, which is {device.target}",
                         "leave --target out; 'klab build' builds for others")  # fmt: skip
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
    cache, timeout = open_cache(settings), settings.build_timeout_s
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


def open_cache(settings: Settings) -> CodeCache:
    return CodeCache(default_folder() if settings.cache else None)


def survey_gpu() -> dict[str, str]:
    """What GPU work there can be here: the device, the compilers, the tools, each with a version or why not."""
    from kernellab.build import nvrtc_job
    from kernellab.build import triton as triton_backend
    from kernellab.run import driver
    from kernellab.run.alone import find_tool

    device = "none: kernels for it can be built, not run"
    if driver.present():
        facts = driver.Context().properties()
        device = f"{facts.name} ({facts.target}, {facts.processors} SMs, {facts.memory_bytes / 2**30:.0f} GiB)"
    return {
        "gpu": device,
        "triton": triton_backend.missing() or triton_backend.version(),
        "nvrtc": nvrtc_job.PROBLEM or nvrtc_job.VERSION,
        "ncu": find_tool("ncu") or "not found: --profile falls back to timings",
        "sanitizer": find_tool("compute-sanitizer") or "not found: --sanitize is not available",
    }
