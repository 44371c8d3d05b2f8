"""What processor this is, what it can do, and how much memory there is."""

from __future__ import annotations

import os
import platform
import resource
from pathlib import Path


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except (OSError, ValueError):
        lines = {}
    for key in ("model name\t", "Model\t\t", "Hardware\t"):
        if key in lines:
            return lines[key].strip()
    known = {"0xd0c": "Neoverse-N1", "0xd40": "Neoverse-V1", "0xd49": "Neoverse-N2", "0xd4f": "Neoverse-V2"}
    part = lines.get("CPU part\t", "").strip()
    return known.get(part, part) or platform.machine()


_VECTORS = (  # a word of /proc/cpuinfo, what it means, float32 lanes
    ("avx512f", "AVX-512", 16), ("avx2", "AVX2", 8), ("avx", "AVX", 8), ("sse4_2", "SSE4.2", 4), ("asimd", "NEON", 4),
)  # fmt: skip
_MORE = {"fma": "FMA", "f16c": "F16C", "avx512_bf16": "AVX-512 BF16", "amx_tile": "AMX", "sve": "SVE", "sve2": "SVE2",
         "asimdhp": "float16 arithmetic", "asimddp": "dot products", "bf16": "BF16", "i8mm": "I8MM"}  # fmt: skip
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def instruction_set() -> str:
    """The architecture and its vectors, as "aarch64, NEON: vectors of 128 bits (4 float32); dot products"."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except (OSError, ValueError):
        lines = {}
    words = set((lines.get("flags\t\t") or lines.get("Features\t") or "").split())
    found = next(((name, lanes) for word, name, lanes in _VECTORS if word in words), None)
    vectors = f", {found[0]}: vectors of {32 * found[1]} bits ({found[1]} float32)" if found else ""
    more = [name for word, name in _MORE.items() if word in words]
    return platform.machine() + vectors + (f"; {', '.join(more)}" if more else "")


def caches() -> str:
    """The data caches, as "L1 64 KiB, L2 1024 KiB, L3 32768 KiB"; '' where the system does not say."""
    found = []
    for place in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = ((place / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found.append(f"L{level} {size.removesuffix('K')} KiB")
    return ", ".join(found)


_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Of a container, as it sees its own."""


def available_bytes() -> int:
    """What a program may still take: what is free or can be freed, within the limits of its container and of itself."""
    own = resource.getrlimit(resource.RLIMIT_AS)[0]
    known = [memory_bytes(), _free_bytes(), *map(_limit_bytes, _LIMITS)]
    return min([*(n for n in known if n), *([own] if own >= 0 else [])])


def _free_bytes() -> int:
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) << 10
    except (OSError, ValueError, KeyError):
        return 0


def _limit_bytes(path: str) -> int:
    """0 where there is none."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return 0


def memory_bytes() -> int:
    """Of the whole machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
