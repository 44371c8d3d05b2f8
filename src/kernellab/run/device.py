"""What this machine is, in words and as a digest: part of every trial's record."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from kernellab.core.hardware import cpu_model
from kernellab.core.ids import digest


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
