"""C on the processor: SOURCE is compiled to a shared object by the machine's own compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernellab.core.targets import Export, Language, Machine
from kernellab.targets.base import Target, Toolchain
from kernellab.targets.cpu import CPU

if TYPE_CHECKING:
    from kernellab.build.base import Builder
    from kernellab.build.cache import CodeCache
    from kernellab.core.settings import Settings
    from kernellab.sandbox.host import Sandbox


def abilities(code: bytes, edition: int) -> Iterable[Mapping[str, set[str]]]:
    from kernellab.build.cpu_abilities import of_shared_object

    return [of_shared_object(code, edition)]


def toolchain(settings: Settings, machine: Machine) -> Toolchain:
    from kernellab.build import c
    from kernellab.build.compiler import find_compiler

    compiler = find_compiler(settings.compiler, machine.architecture)

    def builder(sandbox: Sandbox, cache: CodeCache) -> Builder:
        return c.CBuilder(sandbox, compiler, cache, settings.threads, settings.build_timeout_s)

    return Toolchain(compiler.identity, c.PRELOAD, builder, trees=compiler.trees, self_exe=compiler.self_exe)


C = Language(
    name="c",
    title="C",
    written="C for CPUs",
    recognises=lambda text: "SOURCE" in text,
    abilities=abilities,
    fallback=True,
    recipes=Path(__file__).parents[1] / "propose" / "recipes" / "c",
    dialect="c",
    same_code=True,
    export=Export(
        runner="host",
        way="compiled C. Needs a C compiler (`cc`), which is called once, at the first use; without one it warns and uses "
        "the reference",
        buffers="Contiguous (C order) and 64-byte aligned, as the kernels were judged; Python inputs that are not are "
        "copied.",
        alignment=64,
    ),
)
TARGET = Target("cpu-c", C, CPU, toolchain)
