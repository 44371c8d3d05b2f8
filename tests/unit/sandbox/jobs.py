"""Job entries for the sandbox tests. They run inside jobs; each takes the descriptors that it was given."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import time

from kernellab.sandbox import libc


def _report(fd: int, value: object) -> None:
    os.write(fd, json.dumps(value).encode())


def _attempt(path: str, flags: int) -> str:
    try:
        os.close(os.open(path, flags, 0o600))
    except OSError as err:
        return type(err).__name__ if err.errno not in (1, 13, 30) else "refused"
    return "opened"


def seven(_: list[int]) -> int:
    return 7


def wants_a_group(fds: list[int]) -> None:
    """Its child asks for a process group of its own, as build tools do for their compilers."""
    before, (reading, writing) = os.getpgrp(), os.pipe()
    if os.fork() == 0:
        try:
            os.setpgid(0, 0)
            told = "granted"
        except PermissionError:
            told = "refused"
        os.write(writing, f"{told} {os.getpgrp() == before}".encode())
        os._exit(0)
    _report(fds[0], os.read(reading, 100).decode())


def reads_below(fds: list[int]) -> None:
    with open("deep/down/placed") as file:
        _report(fds[0], file.read())


def prints(_: list[int]) -> None:
    print("hello from the job")
    os.write(2, b"and from its error stream\n")


def raises(_: list[int]) -> None:
    raise ValueError("a fault of the job")


def floods(_: list[int]) -> None:
    while True:
        os.write(1, b"x" * 65536)


def copies(fds: list[int]) -> None:
    """What lies in the first descriptor, into the second."""
    os.write(fds[1], os.pread(fds[0], 4096, 0))


def crashes(_: list[int]) -> None:
    ctypes.string_at(8)


def sleeps(_: list[int]) -> None:
    time.sleep(60)


def forks_and_sleeps(_: list[int]) -> None:
    os.fork()
    time.sleep(60)


def forks_and_ends(_: list[int]) -> None:
    if os.fork() == 0:
        time.sleep(60)


def counts(fds: list[int]) -> None:
    address = libc.mmap(0, 4096, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fds[0], 0)
    shared = ctypes.c_int64.from_address(address)
    for number in range(1 << 62):
        shared.value = number


def tells_environment(fds: list[int]) -> None:
    _report(fds[0], sorted(os.environ))


def tells_descriptors(fds: list[int]) -> None:
    found = []
    for fd in range(1024):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            continue
    _report(fds[0], found)


def tells_cores(fds: list[int]) -> None:
    _report(fds[0], sorted(os.sched_getaffinity(0)))


def uses_placed_file(fds: list[int]) -> None:
    with open("placed", "rb") as file:
        text = file.read().decode()
    again = _attempt("placed", os.O_WRONLY)
    _report(fds[0], {"text": text, "write": again, "create": _attempt("new", os.O_CREAT | os.O_WRONLY)})


def leaves_a_file(fds: list[int]) -> None:
    """Writes a file, says where, and stays."""
    with open("mine", "w") as file:
        file.write("a secret of this job")
    _report(fds[0], os.path.join(os.getcwd(), "mine"))
    time.sleep(60)


def looks_for(fds: list[int]) -> None:
    path = json.loads(os.pread(fds[0], 4096, 0))
    _report(fds[1], {"listed": sorted(os.listdir(".")), "same": os.path.dirname(path) == os.getcwd(),
                     "opened": _attempt(path, os.O_RDONLY)})  # fmt: skip


def fills_scratch(fds: list[int]) -> None:
    written = 0
    try:
        for number in range(400):
            with open(f"file-{number}", "wb") as file:
                written += file.write(b"x" * (256 << 10))
            time.sleep(0.002)
    except OSError as err:
        _report(fds[0], err.errno)
        return
    _report(fds[0], "everything was written")


def nests_folders(_: list[int]) -> None:
    for _i in range(1500):
        os.mkdir("nested-folder")
        os.chdir("nested-folder")
