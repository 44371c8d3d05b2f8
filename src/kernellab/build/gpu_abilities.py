"""What a GPU module (cubin) can do besides computing, read from its instructions without any tool.

Covered: clocks and timers, where a block runs, atomics, waiting, static and local memory, calls into the driver; for
compute capability 7.5 to 12.x, whose encoding has been the same for all of these (tests hold it against nvdisasm).
Not covered: blocks that speak to each other by plain stores and loads; other architectures, of which that is said.
"""

from __future__ import annotations

import numpy as np

from kernellab.build.cpu_ability_rules import CLOCK, PLACE, UNREADABLE
from kernellab.build.cubin import audit, code_sections

BETWEEN_BLOCKS, WITHIN_A_BLOCK = "uses atomics between blocks", "uses atomics within a block"
_OPCODE = np.uint64(0x1FF)  # of 12 bits; the other three say which operands come from where
_SPECIAL = {0x119: "S2R", 0x005: "CS2R", 0x1C3: "S2UR"}
_REGISTERS = {
    **dict.fromkeys((0x50, 0x51), (CLOCK, "clock")), **dict.fromkeys((0x52, 0x53), (CLOCK, "globaltimer")),
    **dict.fromkeys(range(0x64, 0x70), (CLOCK, "performance counter")),
    0x43: (PLACE, "smid"), 0x03: (PLACE, "warpid"),
}  # fmt: skip
_ALWAYS = {
    0x18A: (BETWEEN_BLOCKS, "ATOM"), 0x18B: (BETWEEN_BLOCKS, "ATOM"), 0x1A8: (BETWEEN_BLOCKS, "ATOMG"),
    0x1A9: (BETWEEN_BLOCKS, "ATOMG"), 0x18E: (BETWEEN_BLOCKS, "RED"), 0x18C: (WITHIN_A_BLOCK, "ATOMS"),
    0x18D: (WITHIN_A_BLOCK, "ATOMS"), 0x15D: ("waits", "NANOSLEEP"),
}  # fmt: skip
_SINCE_HOPPER = {
    0x1A3: (BETWEEN_BLOCKS, "ATOMG"), 0x1A6: (BETWEEN_BLOCKS, "RED"), 0x1BB: (BETWEEN_BLOCKS, "UBLKRED"),
    0x1B6: (BETWEEN_BLOCKS, "UTMAREDG"), 0x1BE: (BETWEEN_BLOCKS, "REDAS"),
}  # fmt: skip


def of_module(cubin: bytes) -> dict[str, set[str]]:
    """Abilities, each with how it comes by them. ValueError on what is no cubin."""
    facts = audit(cubin)
    found: dict[str, set[str]] = {}
    if facts.static_bytes:
        found[f"keeps {facts.static_bytes} bytes of static memory"] = set()
    if local := max((k.local_bytes for k in facts.kernels.values()), default=0):
        found[f"keeps up to {local} bytes a thread in local memory"] = set()
    if facts.imports:
        found["calls the driver"] = {ascii(name)[1:-1][:40] for name in facts.imports}
    if not 75 <= facts.arch < 130:
        return {**found, UNREADABLE: {f"sm_{facts.arch}"}}
    named = _ALWAYS | (_SINCE_HOPPER if facts.arch >= 90 else {})
    for code in code_sections(cubin):
        for what, how in _instructions(code, named):
            found.setdefault(what, set()).add(how)
    return found


def _instructions(code: bytes, named: dict[int, tuple[str, str]]) -> set[tuple[str, str]]:
    words = np.frombuffer(code[: len(code) // 16 * 16], "<u8").reshape(-1, 2)
    opcodes = words[:, 0] & _OPCODE
    found = {named[int(o)] for o in np.unique(opcodes) if int(o) in named}
    reads = words[np.isin(opcodes, np.array(list(_SPECIAL), np.uint64)), 1]
    registers = {int(r) for r in np.unique(reads >> np.uint64(8) & np.uint64(0xFF))}
    return found | {_REGISTERS[r] for r in registers if r in _REGISTERS}
