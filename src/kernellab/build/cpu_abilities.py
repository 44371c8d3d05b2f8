"""What a shared object for a processor can do besides computing, read from its bytes alone.

Covered: functions it takes from other libraries; clock, random-number, system-call and processor-asking instructions in
its executable sections (aarch64: every word; x86-64: read from front to back, and where that fails "may" is said);
static and thread-local memory of its own; code that runs at loading; memory both writable and executable.
Not covered: code outside executable sections or entered in the midst of an instruction; the addresses and loader's tables
that every shared object keeps in writable memory, and the three numbers in which the laboratory tells a thread its place
in a grid; what a function of another library does in its turn.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernellab.build.cpu_ability_rules import CLOCK, EDITIONS, MODES, PLACE, RANDOM, SYSTEM, Edition
from kernellab.build.x86 import Instruction, instructions

_PLAIN = {0x31: "rdtsc", 0x33: "rdpmc", 0x05: "syscall", 0x34: "sysenter", 0xA2: "cpuid", 0x02: "lar", 0x03: "lsl"}
_ALONE = {0xF9: "rdtscp", 0xFD: "rdpru", 0xD0: "xgetbv"}
_GROUPS = (0x00, 0x01, 0xAE)
_WRITE, _ALLOC, _EXEC, _PER_THREAD = 1, 2, 4, 0x400
_NOBITS, _SYMTAB, _DYNSYM, _INIT, _FINI = 8, 2, 11, 14, 15
_LOAD, _TLS, _STACK, _RELRO = 1, 7, 0x6474E551, 0x6474E552
_AARCH64, _X86_64 = 183, 62
_OBJECT, _IFUNC = 1, 10
_OWN_BYTES = 16  # __dso_handle and the flag of the start-up code, which every shared object keeps
_PROGRAM_NUMBERS = "klab_program_id"
_STARTUP = ("__dso_handle", "completed", "__TMC_END__", "_DYNAMIC", "_GLOBAL_OFFSET_TABLE_")


__all__ = ["CLOCK", "MODES", "PLACE", "RANDOM", "SYSTEM", "of_shared_object"]


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    section: int
    size: int


def of_shared_object(image: bytes, edition: int) -> dict[str, set[str]]:
    """Abilities, each with how it comes by them. ValueError on what is no 64-bit little-endian ELF file."""
    try:
        return _abilities(image, EDITIONS[edition])
    except (struct.error, IndexError, OverflowError) as err:
        raise ValueError(f"the machine code is not a readable ELF file: {err}") from None


def _abilities(image: bytes, rules: Edition) -> dict[str, set[str]]:
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (machine,) = struct.unpack_from("<H", image, 18)
    sections = _sections(image)
    symbols = [s for kind in (_SYMTAB, _DYNSYM) for s in _symbols(image, sections, kind)]
    found: dict[str, set[str]] = {}
    imported = {s.name for s in _symbols(image, sections, _DYNSYM) if s.section == 0 and s.name}
    told = (
        *_called(imported, rules),
        *_instructions(image, sections, machine, rules),
        *_memory(image, sections, symbols),
    )
    for what, how in told:
        found.setdefault(what, set()).update([how] if how else [])
    return found


def _called(imported: set[str], rules: Edition) -> Iterator[tuple[str, str]]:
    for name in imported:
        plain = name.partition("@")[0]
        if kind := rules.kind_of(plain):
            yield kind, ascii(plain)[1:-1][:40]


def _instructions(image: bytes, sections: list[_Section], machine: int, rules: Edition) -> Iterator[tuple[str, str]]:
    for section in sections:
        if section.flags & _EXEC and section.kind != _NOBITS:
            code = image[section.offset : section.offset + section.size]
            if machine == _AARCH64:
                yield from _arm(code, rules)
            elif machine == _X86_64:
                yield from _intel(code, rules)


def _arm(code: bytes, rules: Edition) -> Iterator[tuple[str, str]]:
    words = np.frombuffer(code[: len(code) // 4 * 4], "<u4")
    for what, how, mask, value in rules.arm:
        if bool(((words & np.uint32(mask)) == value).any()):
            yield what, how


def _intel(code: bytes, rules: Edition) -> Iterator[tuple[str, str]]:
    """The slow reading from front to back is for code that holds such bytes at all; most does not."""
    suspects = [(what, how) for what, how, pattern in rules.intel if pattern in code]
    if not suspects:
        return
    try:
        met = {_named(i, code) for i in instructions(code)}
    except (ValueError, IndexError):
        yield from ((f"may do so: {what}", how) for what, how in suspects)
        return
    yield from ((what, how) for what, how in suspects if how in met)


def _named(instruction: Instruction, code: bytes) -> str:
    opcode, modrm = instruction.opcode, instruction.modrm
    if instruction.space == 0:
        return "int" if opcode == 0xCD else ""
    if instruction.space != 1:
        return ""
    if opcode == 0xC7 and modrm >> 6 == 3:
        aside = code[instruction.at : instruction.at + 1] == b"\xf3"
        return {6: "rdrand", 7: "rdpid" if aside else "rdseed"}.get(modrm >> 3 & 7, "")
    if opcode in _GROUPS:
        return _of_group(opcode, modrm, code[instruction.at])
    return _PLAIN.get(opcode, "")


def _of_group(opcode: int, modrm: int, first: int) -> str:
    """Opcodes that the ModRM byte tells apart. `first`: of the instruction, which may be a prefix."""
    register, in_memory = modrm >> 3 & 7, modrm >> 6 != 3
    if opcode == 0x00:
        return {0: "sldt", 1: "str"}.get(register, "")
    if opcode == 0x01:
        found = {0: "sgdt", 1: "sidt"}.get(register, "") if in_memory else _ALONE.get(modrm, "")
        return "smsw" if register == 4 else found
    if in_memory:
        return {1: "fxrstor", 2: "ldmxcsr", 5: "xrstor"}.get(register, "")
    return {0x66: "tpause", 0xF2: "umwait"}.get(first, "") if register == 6 else ""


def _memory(image: bytes, sections: list[_Section], symbols: list[_Symbol]) -> Iterator[tuple[str, str]]:
    segments = list(_segments(image))
    static = _static_bytes(sections, symbols, [(at, at + size) for kind, _, at, size in segments if kind == _RELRO])
    if static:
        yield f"keeps {static} bytes of static memory", ""
    numbers = next((s.size for s in symbols if s.name == _PROGRAM_NUMBERS), 0)
    if (local := sum(size for kind, _, _, size in segments if kind == _TLS) - min(numbers, 24)) > 0:
        yield f"keeps {local} bytes of thread-local memory", ""
    if any(flags & 3 == 3 for kind, flags, _, _ in segments if kind in (_LOAD, _STACK)):
        yield "has memory that is both writable and executable", ""
    if any(s.kind == _IFUNC for s in symbols):
        yield "chooses its functions when it is loaded", ""
    own = {s.name for s in symbols}
    for kind, usual in ((_INIT, "__frame_dummy_init_array_entry"), (_FINI, "__do_global_dtors_aux_fini_array_entry")):
        if sum(s.size for s in sections if s.kind == kind) > 8 * (usual in own):
            yield "runs code when it is loaded or unloaded", ""


def _static_bytes(sections: list[_Section], symbols: list[_Symbol], sealed: list[tuple[int, int]]) -> int:
    """Writable memory but for what the linker makes: by size, and by the names of what lies in it, whichever is more.
    `sealed` is written while loading and never again."""
    own = {
        i for i, s in enumerate(sections)
        if s.flags & _WRITE and s.flags & _ALLOC and not s.flags & _PER_THREAD
        and not any(low <= s.address and s.address + s.size <= high for low, high in sealed)
    }  # fmt: skip
    addresses = 8 * (3 + len({s.name for s in symbols if s.section == 0}))
    linked = sum(min(sections[i].size, addresses) for i in own if sections[i].name == ".got.plt")
    named = {(s.name, s.section, s.size) for s in symbols
             if s.kind == _OBJECT and s.section in own and not s.name.startswith(_STARTUP)}  # fmt: skip
    total = sum(sections[i].size for i in own)
    return max(total - linked - _OWN_BYTES, sum(size for _, _, size in named), 0)


def _sections(image: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQI", image, table + i * size) for i in range(count)]
    names = headers[names_at][4] if count else 0
    return [_Section(_text(image, names + h[0]), h[1], h[2], h[3], h[4], h[5], h[6]) for h in headers]


def _symbols(image: bytes, sections: list[_Section], kind: int) -> Iterator[_Symbol]:
    for table in (s for s in sections if s.kind == kind):
        names = sections[table.link].offset
        for at in range(table.offset, table.offset + table.size - 23, 24):
            name, info, _, section, _, size = struct.unpack_from("<IBBHQQ", image, at)
            yield _Symbol(_text(image, names + name), info & 0xF, section, size)


def _segments(image: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, flags, address and size in memory of each part that is loaded."""
    (table,) = struct.unpack_from("<Q", image, 0x20)
    size, count = struct.unpack_from("<HH", image, 0x36)
    for i in range(count):
        kind, flags, _, address, _, _, length, _ = struct.unpack_from("<IIQQQQQQ", image, table + i * size)
        yield kind, flags, address, length


def _text(image: bytes, at: int) -> str:
    end = image.find(b"\0", at, at + 256)
    return image[at : end if end >= 0 else at + 256].decode("utf-8", "backslashreplace")
