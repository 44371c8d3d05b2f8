"""Landlock: which files a process may read, execute or write; TCP and signals out of the sandbox where the ABI has it.

Covered: every file access through a path (ABI 1+), truncation (3), TCP (4), device ioctls (5), signals and abstract
sockets across the border (6). Not covered: UDP (the network namespace or seccomp), descriptors opened before.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from kernellab.sandbox import libc

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_READ = EXECUTE | READ_FILE | READ_DIR
_FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | (1 << 14)


def abi() -> int:
    """The kernel's Landlock version, 0 where there is none."""
    try:
        return libc.syscall("landlock_create_ruleset", _CREATE, None, 0, 1)
    except OSError:
        return 0


SEES_TRUNCATION = 3


def _all_rights(version: int) -> int:
    bits = 13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16
    return (1 << bits) - 1


def restrict(readable: Iterable[str], writable: Iterable[str], device_files: Iterable[str] = ()) -> None:
    """From here on this process reads only `readable` trees and writes only `writable` ones."""
    version = abi()
    rights = _all_rights(version)
    attributes = struct.pack("=Q", rights)
    if version >= 4:
        attributes += struct.pack("=Q", 3)  # TCP bind and connect: handled, and no rule allows them
    if version >= 6:
        attributes += struct.pack("=Q", 3)  # abstract sockets and signals stay inside
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = libc.syscall("landlock_create_ruleset", _CREATE, buffer, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        for path in writable:
            _allow(ruleset, path, rights)
        for path in device_files:
            _allow(ruleset, path, READ_FILE | WRITE_FILE)
        libc.syscall("landlock_restrict_self", _RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_ONLY
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, fd), 12)
        libc.syscall("landlock_add_rule", _ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(fd)
