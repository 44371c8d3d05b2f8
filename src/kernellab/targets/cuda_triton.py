"""Triton on NVIDIA GPUs: kernels are decorated functions, compiled for a named architecture without a device."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kernellab.core.targets import Export, Language, Machine
from kernellab.targets.base import Target, Toolchain
from kernellab.targets.cuda import CUDA
from kernellab.targets.cuda_cpp import abilities

if TYPE_CHECKING:
    from kernellab.build.base import Builder
    from kernellab.build.cache import CodeCache
    from kernellab.core.settings import Settings
    from kernellab.sandbox.host import Sandbox

_MARKS = re.compile(r"^\s*(import|from)\s+triton\b|@triton\.jit\b", re.MULTILINE)


def toolchain(settings: Settings, machine: Machine) -> Toolchain:
    from kernellab.build import triton

    properties = {"multiprocessor_count": machine.processors} if machine.processors else None

    def builder(sandbox: Sandbox, cache: CodeCache) -> Builder:
        return triton.TritonBuilder(sandbox, cache, machine.architecture, settings.build_timeout_s, properties)

    identity = f"triton {triton.version() or 'absent'}"
    return Toolchain(identity, triton.PRELOAD, builder, lambda _: triton.missing())


TRITON = Language(
    name="triton",
    title="Triton",
    written="Triton",
    recognises=lambda text: _MARKS.search(text) is not None,
    abilities=abilities,
    recipes=Path(__file__).parents[1] / "propose" / "recipes" / "triton",
    suffix="_triton",
    dialect="jit",
    sourced=False,
    no_flags="leave flags out: num_warps and the like belong into launch()",
    each_shape=True,
    warps=4,
    cited="tillet",
    export=Export(
        runner="device",
        way="Triton kernels. Needs torch and Triton",
        buffers="Contiguous tensors on one CUDA device; others are copied first.",
        alignment=16,
        dependencies=("triton>=3.4",),
        launch="launch_triton.py",
    ),
)
TARGET = Target("cuda-triton", TRITON, CUDA, toolchain)
