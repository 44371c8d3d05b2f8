"""A whole target in one file: `y = x + 2 * x`, a line of arithmetic on every element, translated to C, on a device of its own.

Nothing of a candidate is run to read it: it is parsed, and what is not a number, a buffer's name or + - * is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kernellab.build import c
from kernellab.build.base import Builder, Built, Candidate, Described, NotBuilt
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import find_compiler
from kernellab.core.records import Param
from kernellab.core.settings import Settings
from kernellab.core.targets import Language, Machine
from kernellab.sandbox.host import Sandbox
from kernellab.targets.base import Target, Toolchain
from kernellab.targets.cpu import CPU
from kernellab.targets.cpu_c import abilities
from kernellab.tasks.spec import Dims, Task

MARK = "arithmetic:"
_ALLOWED = (ast.BinOp, ast.Name, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Load)
_CANDIDATE = '''SOURCE = r"""
void each(const float *restrict {x}, float *restrict {y}, long n) {{
    for (long i = 0; i < n; i++) {y}[i] = {line};
}}
"""
FLAGS = ["-O2"]


def launch({x}, {y}):
    kernel("each")({x}, {y}, {x}.size)
'''


def translated(text: str) -> str:
    """A C candidate. ValueError on what is not one line of arithmetic."""
    (assigned,) = ast.parse(text.removeprefix(MARK).strip()).body
    if not isinstance(assigned, ast.Assign) or not isinstance(assigned.targets[0], ast.Name):
        raise ValueError("write one line: y = ...")
    nodes = list(ast.walk(assigned.value))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    if any(not isinstance(node, _ALLOWED) for node in nodes) or len(names) != 1:
        raise ValueError("the right side may hold numbers, one buffer and + - *")
    (x,) = names
    line = ast.unparse(assigned.value).replace(x, f"{x}[i]")
    return _CANDIDATE.format(x=x, y=assigned.targets[0].id, line=line)


class ArithmeticBuilder(c.CBuilder):
    backend = "arithmetic"

    def describe(self, candidate: Candidate) -> Described | NotBuilt:
        try:
            translated(candidate.text)
        except (ValueError, SyntaxError) as err:
            return NotBuilt("build-failed", str(err))
        return Described({}, [], "a line of arithmetic")

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt:
        described = self.describe(candidate)
        if isinstance(described, NotBuilt):
            return described
        return super().build(task, Candidate(translated(candidate.text), candidate.name), params, shapes)


def toolchain(settings: Settings, machine: Machine) -> Toolchain:
    compiler = find_compiler(settings.compiler, machine.architecture)

    def builder(sandbox: Sandbox, cache: CodeCache) -> Builder:
        return ArithmeticBuilder(sandbox, compiler, cache, settings.threads, settings.build_timeout_s)

    return Toolchain(f"arithmetic by {compiler.identity}", c.PRELOAD, builder, trees=compiler.trees)


ARITHMETIC = Language(
    name="arithmetic",
    title="arithmetic",
    written="arithmetic",
    recognises=lambda text: text.startswith(MARK),
    abilities=abilities,
    same_code=True,
)
TOY = replace(CPU, kind="toy", title="toy", place="a toy", gauntlet="")
TARGET = Target("toy-arithmetic", ARITHMETIC, TOY, toolchain)
