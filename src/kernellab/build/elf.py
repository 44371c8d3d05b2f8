"""Just enough ELF to audit machine code: how much memory survives from call to call, how large the code is."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_WRITE, _ALLOC, _EXEC = 1, 2, 4


@dataclass(frozen=True)
class Sections:
    static_bytes: int
    code_bytes: int
    constant_bytes: int


def sections(image: bytes) -> Sections:
    """Raises ValueError on anything that is not a well-formed 64-bit little-endian ELF file."""
    try:
        if image[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        (table,) = struct.unpack_from("<Q", image, 0x28)
        size, count, names_at = struct.unpack_from("<HHH", image, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
        names = headers[names_at][4]
        static = code = constant = 0
        for name, _, flags, _, _, length in headers:
            label = image[names + name : image.index(b"\0", names + name)]
            if flags & _WRITE and flags & _ALLOC:  # by flag, not by name: names are the candidate's to choose
                static += length
            elif flags & _EXEC:
                code += length
            elif flags & _ALLOC and label.startswith(b".rodata"):
                constant += length
        return Sections(static, code, constant)
    except (struct.error, IndexError, ValueError, OverflowError) as err:
        raise ValueError(f"the machine code is not a readable ELF file: {err}") from None
