"""Where instructions begin in x86-64 machine code: just enough of the encoding to tell an opcode from a constant.

Covered: what compilers emit for 64-bit code, with VEX and EVEX. Not covered: what operands mean; code that is entered
in the midst of an instruction (no reader from front to back sees that).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_PREFIXES = frozenset(b"\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65\xf0")
_MODRM = frozenset(
    {b for b in range(0x40) if b & 7 < 4}
    | {0x63, 0x69, 0x6B, 0x80, 0x81, 0x83, 0xC0, 0xC1, 0xC6, 0xC7, 0xF6, 0xF7, 0xFE, 0xFF}
    | set(range(0x84, 0x90)) | set(range(0xD0, 0xD4)) | set(range(0xD8, 0xE0))
)  # fmt: skip
_BYTE = frozenset(
    {b for b in range(0x40) if b & 7 == 4}
    | {0x6A, 0x6B, 0x80, 0x83, 0xA8, 0xC0, 0xC1, 0xC6, 0xCD, 0xEB}
    | set(range(0x70, 0x80)) | set(range(0xB0, 0xB8)) | set(range(0xE0, 0xE8))
)  # fmt: skip
_WORD = frozenset({b for b in range(0x40) if b & 7 == 5} | {0x68, 0x69, 0x81, 0xA9, 0xC7})  # 4 bytes, 2 after 66
_NEVER = frozenset(
    {b for b in range(0x40) if b & 7 > 5 and b not in (0x0F, 0x26, 0x2E, 0x36, 0x3E)}
    | {0x60, 0x61, 0x82, 0x9A, 0xCE, 0xD4, 0xD5, 0xD6, 0xEA}
)
_PLAIN_0F = frozenset(
    {0x05, 0x06, 0x07, 0x08, 0x09, 0x0B, 0x0E, 0x77, 0xA0, 0xA1, 0xA2, 0xA8, 0xA9, 0xAA}
    | set(range(0x30, 0x38)) | set(range(0xC8, 0xD0))
)  # fmt: skip
_BYTE_0F = frozenset({0x0F, 0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6})


@dataclass(frozen=True)
class Instruction:
    """`space`: 0 for one-byte opcodes, 1 for those after 0F, 2 and 3 after 0F 38 and 0F 3A. `modrm` is -1 without one."""

    at: int
    space: int
    opcode: int
    modrm: int
    size: int


def instructions(code: bytes) -> Iterator[Instruction]:
    """From front to back. Raises ValueError where there is no instruction, IndexError where one is cut off."""
    at = 0
    while at < len(code):
        found = _instruction(code, at)
        yield found
        at += found.size


def _instruction(code: bytes, start: int) -> Instruction:
    at, short, long_address = start, False, True
    while code[at] in _PREFIXES:
        short |= code[at] == 0x66
        long_address &= code[at] != 0x67
        at += 1
    wide = code[at] & 0xF8 == 0x48
    if code[at] & 0xF0 == 0x40:
        at += 1
    first = code[at]
    if first in (0xC4, 0xC5, 0x62):
        return _vector(code, start, at)
    space, at, opcode = 0, at + 1, first
    if first == 0x0F:
        space, opcode, at = 1, code[at], at + 1
        if opcode in (0x38, 0x3A):
            space, opcode, at = (2 if opcode == 0x38 else 3), code[at], at + 1
    has = opcode in _MODRM if space == 0 else space > 1 or not (opcode in _PLAIN_0F or 0x80 <= opcode < 0x90)
    modrm = code[at] if has else -1
    end = at + (_operand(code, at) if has else 0) + _constant(space, opcode, modrm, short, wide, long_address)
    return _whole(code, Instruction(start, space, opcode, modrm, end - start))


def _vector(code: bytes, start: int, at: int) -> Instruction:
    """VEX in two or three bytes, EVEX in four; the opcode follows, and nearly always a ModRM byte."""
    size = {0xC5: 2, 0xC4: 3, 0x62: 4}[code[at]]
    space = 1 if size == 2 else code[at + 1] & (0x1F if size == 3 else 7)
    at += size
    opcode = code[at]
    if space not in (1, 2, 3, 5, 6):
        raise ValueError(f"no instruction at {start}")
    if (space, opcode) == (1, 0x77):  # vzeroupper
        return _whole(code, Instruction(start, 1, opcode, -1, at + 1 - start))
    constant = space == 3 or (space == 1 and opcode in _BYTE_0F)
    end = at + 1 + _operand(code, at + 1) + constant
    return _whole(code, Instruction(start, space, opcode, code[at + 1], end - start))


def _operand(code: bytes, at: int) -> int:
    """Bytes of ModRM, SIB and displacement."""
    mode, register = code[at] >> 6, code[at] & 7
    if mode == 3:
        return 1
    size, base = 1, register
    if register == 4:
        size, base = 2, code[at + 1] & 7
    if mode == 1:
        return size + 1
    return size + (4 if mode == 2 or base == 5 else 0)


def _constant(space: int, opcode: int, modrm: int, short: bool, wide: bool, long_address: bool) -> int:
    """Bytes of the immediate operand."""
    word = 2 if short and not wide else 4
    if space == 1:
        return 4 if 0x80 <= opcode < 0x90 else int(opcode in _BYTE_0F)
    if space > 1:
        return int(space == 3)
    if opcode in _NEVER:
        raise ValueError(f"there is no opcode {opcode:02x} in 64-bit code")
    if opcode in (0xF6, 0xF7):
        return 0 if modrm >> 3 & 7 > 1 else 1 if opcode == 0xF6 else word
    if 0xB8 <= opcode < 0xC0:
        return 8 if wide else word
    if 0xA0 <= opcode < 0xA4:
        return 8 if long_address else 4
    fixed = {0xC2: 2, 0xCA: 2, 0xC8: 3, 0xE8: 4, 0xE9: 4}
    return fixed.get(opcode, word if opcode in _WORD else int(opcode in _BYTE))


def _whole(code: bytes, found: Instruction) -> Instruction:
    if found.at + found.size > len(code):
        raise IndexError("the last instruction is cut off")
    return found
