"""What a GPU module (cubin) holds, read from its ELF sections: memory that outlives a call, registers, parameters;
and whether a launch fits it.

Covered: writable memory by section flags, calls to functions that the module does not hold (device heap, printing),
resources and parameter sizes of each kernel. Not covered: what the instructions do; those run on the device and are
judged by their outputs. Layouts as NVRTC and ptxas 12.4 to 13.4 write them (ELF ABI versions 7 and 8).
"""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernellab.build.plan import MAX_THREADS, BufferArg, FloatArg, IntArg, ScratchArg, Step

_WRITE, _ALLOC, _EXEC = 1, 2, 4
_EM_CUDA, _NOBITS, _SYMTAB = 190, 8, 2
_FUNC, _ENTRY, _COMMON, _CUDA_COMMON = 2, 0x10, 0xFFF2, 0xFF00
_NO_VARIABLES = (_FUNC, 3, 4)  # functions, sections, files
_REGCOUNT, _FRAME_SIZE, _MIN_STACK, _MAX_THREADS = 0x2F, 0x11, 0x12, 0x05
_KPARAM_INFO, _CBANK_PARAM_SIZE, _KPARAM_INFO_V2 = 0x17, 0x19, 0x45
_SYSTEM_SHARED = 1024  # from compute capability 9.0 on, ptxas counts the system's own shared memory in
HARMLESS_CALLS = {"__assertfail"}  # it ends the launch; all other driver calls keep memory or write outside the buffers
MAX_SHARED = {80: 166912, 87: 166912, 90: 232448, 100: 232448, 103: 232448, 110: 232448}
LEAST_SHARED = 101376  # 8.6, 8.9, 12.x
_REGISTERS = 65536
_PORTABLE_CLUSTER = 8
_TOOL_S = 60.0


@dataclass(frozen=True)
class KernelFacts:
    """Bytes, but for registers and threads. `parameters` are sizes in order, None where they cannot be read."""

    registers: int
    local_bytes: int
    shared_bytes: int
    parameters: tuple[int, ...] | None
    max_threads: int = 0  # by launch bounds; 0: none
    code_bytes: int = 0


@dataclass(frozen=True)
class CubinFacts:
    """`imports` are the functions the code calls and does not hold: the driver's own, such as malloc and vprintf."""

    arch: int
    static_bytes: int
    constant_bytes: int
    code_bytes: int
    kernels: dict[str, KernelFacts] = field(default_factory=dict)
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    other: int
    section: int
    size: int
    value: int


@dataclass(frozen=True)
class Variable:
    """Where a variable lies in its section."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class Writable:
    """A stretch of memory that outlives a launch: a section with its variables, or one variable that has none."""

    name: str
    size: int
    variables: tuple[Variable, ...]


def audit(cubin: bytes) -> CubinFacts:
    """Raises ValueError on anything that is not a well-formed cubin."""
    try:
        if cubin[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", cubin, 18)[0] != _EM_CUDA:
            raise ValueError("not a 64-bit CUDA ELF file")
        sections = _sections(cubin)
        symbols = _symbols(cubin, sections)
        (flags,) = struct.unpack_from("<I", cubin, 48)
        arch = flags >> 8 & 0xFF if cubin[8] >= 8 else flags & 0xFF
        kernels = _kernels(cubin, sections, symbols, arch)
        common = sum(s.size for s in symbols if s.section in (_COMMON, _CUDA_COMMON))
        constant = [s.size for s in sections if s.flags & _ALLOC and s.name.startswith(".nv.constant")]
        parameters = [s.size for s in sections if s.flags & _ALLOC and s.name.startswith(".nv.constant0.")]
        code = sum(s.size for s in sections if s.flags & _EXEC)
        imports = sorted({s.name for s in symbols if s.kind == _FUNC and s.section == 0 and s.name})
        static = _static(sections) + common
        return CubinFacts(arch, static, sum(constant) - sum(parameters), code, kernels, tuple(imports))
    except (struct.error, IndexError, ValueError, OverflowError) as err:
        raise ValueError(f"the machine code is not a readable cubin: {err}") from None


def writable(cubin: bytes) -> list[Writable]:
    """All memory of a module that a kernel can write and a later launch can read. Raises ValueError like audit()."""
    try:
        sections = _sections(cubin)
        symbols = [s for s in _symbols(cubin, sections) if s.kind not in _NO_VARIABLES and s.name and s.size]
    except (struct.error, IndexError, ValueError, OverflowError) as err:
        raise ValueError(f"the machine code is not a readable cubin: {err}") from None
    found = []
    for number in _writable(sections):
        inside = [Variable(s.name, s.value, s.size) for s in symbols if s.section == number]
        found.append(Writable(sections[number].name, sections[number].size, tuple(inside)))
    common = [s for s in symbols if s.section in (_COMMON, _CUDA_COMMON)]
    return found + [Writable(s.name, s.size, (Variable(s.name, 0, s.size),)) for s in common]


def code_sections(cubin: bytes) -> list[bytes]:
    """The instructions, section by section. Raises ValueError on garbage."""
    try:
        return [cubin[s.offset : s.offset + s.size] for s in _sections(cubin) if s.flags & _EXEC and s.kind != _NOBITS]
    except (struct.error, IndexError, OverflowError) as err:
        raise ValueError(f"the machine code is not a readable cubin: {err}") from None


def _sections(cubin: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    if size < 64 or count == 0:
        raise ValueError("no section headers")
    headers = [struct.unpack_from("<IIQQQQI", cubin, table + i * size) for i in range(count)]
    names = _Strings(cubin, headers[names_at][4])
    sections = [_Section(names.at(h[0]), h[1], h[2], h[4], h[5], h[6]) for h in headers]
    if any(s.kind not in (0, _NOBITS) and s.offset + s.size > len(cubin) for s in sections):
        raise ValueError("a section lies beyond the end")
    if sum(s.size for s in sections if s.name.startswith(".nv.info")) > len(cubin):
        raise ValueError("sections lie over one another")
    return sections


def _symbols(cubin: bytes, sections: list[_Section]) -> list[_Symbol]:
    tables = [s for s in sections if s.kind == _SYMTAB]
    if len(tables) != 1:
        raise ValueError(f"{len(tables)} symbol tables")
    names = _Strings(cubin, sections[tables[0].link].offset)
    symbols = []
    for at in range(tables[0].offset, tables[0].offset + tables[0].size - 23, 24):
        name, info, other, section, value, size = struct.unpack_from("<IBBHQQ", cubin, at)
        symbols.append(_Symbol(names.at(name), info & 0xF, other, section, size, value))
    return symbols


class _Strings:
    """A table of names, read with a budget: a made-up module must not turn a few bytes into gigabytes of text."""

    def __init__(self, cubin: bytes, start: int) -> None:
        self._cubin, self._start, self._left = cubin, start, 4 * len(cubin)

    def at(self, offset: int) -> str:
        start = self._start + offset
        end = self._cubin.index(b"\0", start)
        self._left -= end - start
        if self._left < 0:
            raise ValueError("more text in names than there is")
        return self._cubin[start:end].decode("utf-8", "backslashreplace")


def _static(sections: list[_Section]) -> int:
    return sum(sections[number].size for number in _writable(sections))


def _writable(sections: list[_Section]) -> list[int]:
    """The sections that outlive a launch: all that is writable but shared and local memory, which a block owns.

    Those two have no contents in the file. Blackwell's modules describe some sections twice; only such a copy of the
    same bytes is left out.
    """
    counted: set[tuple[int, int]] = set()
    found = []
    for number, section in enumerate(sections):
        owned = section.kind == _NOBITS and section.name.startswith((".nv.shared.", ".nv.local."))
        if not (section.flags & _WRITE and section.flags & _ALLOC) or owned:
            continue
        place = (section.offset, section.size)
        if section.name.startswith(".nv.merc.") and (place in counted or not section.size):
            continue
        counted.add(place)
        if section.size:
            found.append(number)
    return found


def _attributes(cubin: bytes, section: _Section) -> Iterator[tuple[int, bytes]]:
    """The entries of a .nv.info section: attribute number and value."""
    at, end = section.offset, section.offset + section.size
    while at + 4 <= end:
        kind, attribute, short = struct.unpack_from("<BBH", cubin, at)
        at += 4
        if kind == 4:
            if at + short > end:
                raise ValueError("an attribute lies beyond its section")
            yield attribute, cubin[at : at + short]
            at += short
        elif kind in (1, 2, 3):
            yield attribute, struct.pack("<H", short)
        else:
            raise ValueError(f"attributes have no format {kind}")


def _kernels(cubin: bytes, sections: list[_Section], symbols: list[_Symbol], arch: int) -> dict[str, KernelFacts]:
    figures: dict[tuple[int, str], int] = {}
    for section in (s for s in sections if s.name == ".nv.info"):
        for attribute, value in _attributes(cubin, section):
            if attribute in (_REGCOUNT, _FRAME_SIZE, _MIN_STACK):
                number, figure = struct.unpack_from("<II", value)
                figures[attribute, symbols[number].name] = figure
    named = {s.name: s for s in sections}
    kernels: dict[str, KernelFacts] = {}
    for symbol in symbols:
        name = symbol.name
        if symbol.kind != _FUNC or not symbol.other & _ENTRY or symbol.section == 0 or name in kernels:
            continue
        info, shared = named.get(f".nv.info.{name}"), named.get(f".nv.shared.{name}")
        parameters, threads = _interface(cubin, info) if info is not None else (None, 0)
        own = max(0, shared.size - (_SYSTEM_SHARED if arch >= 90 else 0)) if shared is not None else 0
        local = max(figures.get((_FRAME_SIZE, name), 0), figures.get((_MIN_STACK, name), 0))
        registers = figures.get((_REGCOUNT, name), 0)
        kernels[name] = KernelFacts(registers, local, own, parameters, threads, symbol.size)
    return kernels


def _interface(cubin: bytes, info: _Section) -> tuple[tuple[int, ...] | None, int]:
    """The sizes of a kernel's parameters (None where they do not add up) and its launch bound."""
    sizes: dict[int, tuple[int, int]] = {}
    threads, bank, other = 0, 0, False
    for attribute, value in _attributes(cubin, info):
        if attribute == _KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack_from("<IHHI", value)
            sizes[ordinal] = (offset, packed >> 18)
        elif attribute == _KPARAM_INFO_V2:
            other = True
        elif attribute == _MAX_THREADS:
            x, y, z = struct.unpack_from("<III", value)
            threads = x * y * z
        elif attribute == _CBANK_PARAM_SIZE:
            (bank,) = struct.unpack_from("<H", value)
    ordered = [sizes[i] for i in range(len(sizes)) if i in sizes]
    end = ordered[-1][0] + ordered[-1][1] if ordered else 0
    readable = not other and len(ordered) == len(sizes) and end == bank
    return (tuple(size for _, size in ordered) if readable else None), threads


def launch_fault(step: Step, kernel: KernelFacts, arch: int, types: tuple[str, ...] = ()) -> str:
    """Why this step cannot be launched, or '': what a driver would call "invalid argument" or "too many resources".

    `types` are the parameters' kinds in PTX ("u32", "f32", "p64"), where the compiler says them.
    """
    return _shape_fault(step, arch) or _resource_fault(step, kernel, arch) or _argument_fault(step, kernel, types)


def _shape_fault(step: Step, arch: int) -> str:
    if step.grid is None or step.block is None:
        return "a launch needs a grid and a block: kernel(name)[grid, block](...)"
    if math.prod(step.block) > MAX_THREADS or (len(step.block) == 3 and step.block[2] > 64):
        return f"a block of {_by(step.block)} threads; {MAX_THREADS} is the most, and 64 along the third axis"
    if any(extent > 65535 for extent in step.grid[1:]):
        return f"a grid of {_by(step.grid)}; 65535 is the most along the second and third axis"
    if step.cluster is not None:
        if arch < 90:
            return f"clusters need compute capability 9.0, this is a build for {arch // 10}.{arch % 10}"
        if math.prod(step.cluster) > _PORTABLE_CLUSTER:
            return f"a cluster of {_by(step.cluster)} blocks; {_PORTABLE_CLUSTER} is the most"
        grid, cluster = (e + [1] * (3 - len(e)) for e in (step.grid, step.cluster))
        if any(g % c for g, c in zip(grid, cluster, strict=True)):
            return f"a grid of {_by(step.grid)} is not made of whole clusters of {_by(step.cluster)}"
    return ""


def _resource_fault(step: Step, kernel: KernelFacts, arch: int) -> str:
    threads = math.prod(step.block or [])
    if kernel.max_threads and threads > kernel.max_threads:
        return f"a block of {threads} threads; its __launch_bounds__ say {kernel.max_threads}"
    warps = -(-threads // 128) * 4
    if warps * (-(-kernel.registers * 32 // 256) * 256) > _REGISTERS:
        return (
            f"{threads} threads with {kernel.registers} registers each; a block has {_REGISTERS}: "
            "fewer threads, or __launch_bounds__ or --maxrregcount for fewer registers"
        )
    most = MAX_SHARED.get(arch, LEAST_SHARED)
    if step.shared + kernel.shared_bytes > most:
        return f"{step.shared} + {kernel.shared_bytes} bytes of dynamic and static shared memory; {most} is the most"
    return ""


def _argument_fault(step: Step, kernel: KernelFacts, types: tuple[str, ...]) -> str:
    sizes = kernel.parameters
    if sizes is None:
        return "its parameters cannot be read from the machine code; use pointers, integers, float and double"
    if len(sizes) != len(step.args):
        return f"is given {len(step.args)} arguments, it has {len(sizes)} parameters (of {_list(sizes)} bytes)"
    for i, (arg, size) in enumerate(zip(step.args, sizes, strict=True)):
        kind = types[i][0] if len(types) == len(sizes) else ""
        where = f"argument {i + 1}"
        if isinstance(arg, BufferArg | ScratchArg) and (size != 8 or kind == "f"):
            return f"{where} is a buffer, the parameter is no pointer ({size} bytes)"
        if isinstance(arg, IntArg | FloatArg) and (size not in (1, 2, 4, 8) or (types[i : i + 1] == ("b8",) and kind)):
            return f"{where} is a number, the parameter is a struct of {size} bytes"
        if isinstance(arg, IntArg):
            if kind == "p" and arg.value:
                return f"{where} is the integer {arg.value}, the parameter is a pointer"
            if kind == "f":
                return (
                    f"{where} is the integer {arg.value}, the parameter is a float of {size} bytes: write {arg.value}.0"
                )
            if not -(1 << 8 * size - 1) <= arg.value < 1 << 8 * size:
                return f"{where} is {arg.value}, the parameter has {size} bytes"
        if isinstance(arg, FloatArg) and (size not in (4, 8) or kind in ("u", "s", "b", "p")):
            return f"{where} is the float {arg.value:g}, the parameter is no float ({size} bytes)"
    return ""


def _by(extents: list[int]) -> str:
    return " x ".join(map(str, extents))


def _list(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes)) or "no"


def find_tool() -> str:
    """nvdisasm: from the PATH, a CUDA toolkit or the Triton package; '' where there is none."""
    folders = [os.path.join(home, "bin") for home in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda") if home]
    triton = importlib.util.find_spec("triton")
    for place in (triton.submodule_search_locations or []) if triton else []:
        folders.append(os.path.join(place, "backends", "nvidia", "bin"))
    return shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.pathsep.join(folders)) or ""


def disassemble(cubin: bytes) -> str:
    """The instructions (SASS) as text for the record; '' where no tool is found or the tool cannot read the module.

    The tool is not built for hostile files: for modules from a process in which a candidate ran, use the job below.
    """
    tool = find_tool()
    if not tool:
        return ""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        try:
            done = subprocess.run([tool, "-c", file.name], capture_output=True, timeout=_TOOL_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def main(fds: list[int]) -> int:
    """Sandbox entry: a module on the first descriptor, its instructions on the second."""
    text = disassemble(os.pread(fds[0], os.fstat(fds[0]).st_size, 0)).encode()
    with os.fdopen(os.dup(fds[1]), "wb") as file:
        file.write(text)
    return 0
