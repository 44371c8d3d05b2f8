"""How many threads of a kernel an NVIDIA multiprocessor keeps resident: an estimate from registers and shared memory."""

from __future__ import annotations

from collections.abc import Mapping

_REGISTER_FILE = 65536
_RESERVED_SHARED = 1024
_LIMITS = {  # compute capability: threads and blocks a multiprocessor holds, bytes of shared memory
    "sm_70": (2048, 32, 98304), "sm_75": (1024, 16, 65536), "sm_80": (2048, 32, 167936), "sm_86": (1536, 16, 102400),
    "sm_87": (1536, 16, 167936), "sm_89": (1536, 24, 102400), "sm_90": (2048, 32, 233472), "sm_100": (2048, 32, 233472),
    "sm_103": (2048, 32, 233472), "sm_120": (1536, 24, 102400),
}  # fmt: skip


def limits(target: str) -> tuple[str, ...]:
    """What a multiprocessor holds, in words; nothing where the architecture is not known."""
    found = _LIMITS.get(target.rstrip("af"))
    if found is None:
        return ()
    threads, blocks, shared = found
    most = (shared - _RESERVED_SHARED) // 1024
    return (
        f"A multiprocessor: {_REGISTER_FILE} registers (255 at most for a thread), {shared // 1024} KiB of shared memory "
        f"({most} KiB at most for a block), {threads // 32} warps, {blocks} blocks",
    )


def occupancy(generation: str, threads: int, resources: Mapping[str, int]) -> float:
    """Registers are rounded up to 8 a thread, as the hardware does. 0 where something is not known."""
    if generation not in _LIMITS or not resources.get("registers") or not threads:
        return 0.0
    most_threads, most_blocks, most_shared = _LIMITS[generation]
    warps = -(-threads // 32)
    by_registers = _REGISTER_FILE // (warps * 32 * (-(-resources["registers"] // 8) * 8))
    by_shared = most_shared // (resources.get("shared", 0) + _RESERVED_SHARED)
    blocks = min(most_blocks, most_threads // (warps * 32), by_registers, by_shared)
    return min(1.0, max(blocks, 0) * warps * 32 / most_threads)
