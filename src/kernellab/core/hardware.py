"""What processor this is, and how much memory there is."""

from __future__ import annotations

import os
import platform


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


def memory_bytes() -> int:
    """Of the whole machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
