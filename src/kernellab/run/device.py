"""What this machine is, in words and as a digest: part of every trial's record."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from kernellab.core.ids import digest


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


def describe_environment(compiler: str, tier: str, threads: int) -> dict[str, Any]:
    """Hardware, kernel, interpreter and library versions."""
    versions = {}
    for package in ("kernellab", "numpy", "torch", "optuna", "cryptography", "pydantic"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "absent"
    facts = {
        "device": f"{cpu_model()} ({platform.machine()}, {os.cpu_count()} cores)",
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "libc": " ".join(platform.libc_ver()),
        "compiler": compiler,
        "packages": versions,
        "tier": tier,
        "threads": threads,
    }
    return {**facts, "digest": digest(facts)}
