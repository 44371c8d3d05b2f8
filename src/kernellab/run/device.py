"""What this machine is, in words and as a digest: part of every trial's record."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kernellab.core.ids import digest
from kernellab.core.own_code import own_code
from kernellab.core.version import VERSION

_PACKAGES = ("numpy", "torch", "optuna", "cryptography", "pydantic")
_BUILT_FOR = ", built for "


def name_for(machine: str, target: str) -> str:
    """A device's name: the machine's, and what is built for where that is not the machine itself ('' if it is)."""
    return f"{machine}{_BUILT_FOR}{target}" if target else machine


def machine_of(device: str) -> str:
    """The machine's own name again."""
    return device.split(_BUILT_FOR)[0]


def describe_environment(
    device: str,
    compiler: str,
    tier: str,
    threads: int,
    facts: Mapping[str, str] | None = None,
    packages: Sequence[str] = (),
) -> dict[str, Any]:
    """Hardware, kernel, interpreter, library versions, the laboratory's own code; `facts`: what a driver says of itself,
    `packages`: the platform's own.

    The laboratory names itself: a checkout that was never installed has no package metadata to ask.
    """
    versions = {"kernellab": VERSION}
    for package in (*_PACKAGES, *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "absent"
    known = {
        "device": device,
        **(facts or {}),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "libc": " ".join(platform.libc_ver()),
        "compiler": compiler,
        "packages": versions,
        "code": own_code(),
        "tier": tier,
        "threads": threads,
    }
    return {**known, "digest": digest(known)}
