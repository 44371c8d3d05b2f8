"""CUDA C++ on NVIDIA GPUs: SOURCE is compiled by NVRTC, without nvcc and without a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernellab.core.targets import Export, Language, Machine
from kernellab.targets.base import Target, Toolchain
from kernellab.targets.cuda import CUDA

if TYPE_CHECKING:
    from kernellab.build.base import Builder
    from kernellab.build.cache import CodeCache
    from kernellab.core.settings import Settings
    from kernellab.sandbox.host import Sandbox


def abilities(code: bytes, edition: int) -> Iterable[Mapping[str, set[str]]]:
    """Of packed modules, whichever compiler made them. The words for them are the same in every edition."""
    from kernellab.build.bundle import unpack
    from kernellab.build.gpu_abilities import of_module

    return map(of_module, unpack(code).modules)


def toolchain(settings: Settings, machine: Machine) -> Toolchain:
    from kernellab.build import cuda

    def builder(sandbox: Sandbox, cache: CodeCache) -> Builder:
        return cuda.CudaBuilder(sandbox, cache, machine.architecture, settings.build_timeout_s)

    identity = f"NVRTC for {cuda.target_of(machine.architecture)}"
    return Toolchain(identity, cuda.PRELOAD, builder, cuda.missing, cuda.header_folders())


CUDA_CPP = Language(
    name="cuda",
    title="CUDA C++",
    written="CUDA C++",
    recognises=lambda text: "__global__" in text,
    abilities=abilities,
    recipes=Path(__file__).parents[1] / "propose" / "recipes" / "cuda",
    suffix="_cuda",
    dialect="cpp",
    export=Export(
        runner="device",
        way="CUDA C++, compiled by NVRTC at the first use through NVIDIA's cuda-python. Needs torch (for memory and "
        "streams), cuda-bindings and nvidia-cuda-nvrtc; no nvcc",
        buffers="Contiguous tensors on one CUDA device, 256-byte aligned; others are copied first.",
        alignment=256,
        dependencies=("cuda-bindings>=12.8", "nvidia-cuda-nvrtc"),
        launch="launch_cuda.py",
        compiled=True,
    ),
)
TARGET = Target("cuda-cpp", CUDA_CPP, CUDA, toolchain)
