"""The filters, read by a small interpreter of classic BPF: so both architectures are tested on either."""

from __future__ import annotations

import errno
import os
import platform
import struct
from collections.abc import Callable

import pytest

from kernellab.sandbox import seccomp
from kernellab.sandbox.syscalls import AUDIT_ARCH, number

ALLOW, KILL = 0x7FFF0000, 0x80000000


def decide(program: bytes, call: int, *args: int, arch: int | None = None) -> int:
    audit = AUDIT_ARCH[platform.machine()] if arch is None else arch
    data = struct.pack("=iIQ6Q", call, audit, 0, *(a & (1 << 64) - 1 for a in (*args, 0, 0, 0, 0, 0, 0)[:6]))
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator = position = 0
    while True:
        operation, yes, no, value = code[position]
        position += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif operation == 0x06:
            return int(value)
        else:
            true = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            position += yes if true else no


def refusal(code: int) -> int:
    return 0x00050000 | code


@pytest.fixture(params=sorted(AUDIT_ARCH), autouse=True)
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(request.param)
    monkeypatch.setattr(platform, "machine", lambda: name)
    return name


def test_the_run_filter_lets_a_kernel_compute_and_nothing_else() -> None:
    program = seccomp.run_filter(threads=False)
    for name in ("read", "write", "mmap", "futex", "exit_group", "openat", "clock_gettime"):
        assert decide(program, number(name)) == ALLOW
    for name in ("socket", "execve", "clone", "clone3", "memfd_create", "kill", "ptrace", "fcntl", "ioctl", "prctl"):
        assert decide(program, number(name)) == refusal(errno.EPERM)


def test_the_run_filter_lets_threads_start_only_when_asked() -> None:
    program = seccomp.run_filter(threads=True)
    assert decide(program, number("clone"), 0x003D0F00) == ALLOW
    assert decide(program, number("clone"), 0x007D0F00) == ALLOW  # musl's
    for flags in (17, 0x003D0F00 | 0x4000, 0x003D0F00 | 0x2000, 0x003D0F00 | 0x20000, 0x003D0F00 | 17):
        assert decide(program, number("clone"), flags) == refusal(errno.EPERM)
    assert decide(program, number("clone3")) == refusal(errno.ENOSYS)


def test_the_run_filter_lets_limits_be_read_but_not_set() -> None:
    program = seccomp.run_filter(threads=False)
    assert decide(program, number("prlimit64"), 0, 9, 0, 4096) == ALLOW
    for pointer in (4096, 1 << 32):
        assert decide(program, number("prlimit64"), 0, 9, pointer, 0) == refusal(errno.EPERM)


def test_the_run_filter_lets_a_process_signal_itself_alone() -> None:
    program = seccomp.run_filter(threads=False)
    assert decide(program, number("tgkill"), os.getpid(), os.getpid(), 6) == ALLOW
    assert decide(program, number("tgkill"), os.getppid(), os.getppid(), 6) == refusal(errno.EPERM)
    for sent in (18, 19, 14):  # SIGCONT would undo a stop
        assert decide(program, number("tgkill"), os.getpid(), os.getpid(), sent) == refusal(errno.EPERM)


def test_the_run_filter_lets_nobody_sleep_or_yield_but_threads_wait_for_each_other() -> None:
    alone, threads = seccomp.run_filter(threads=False), seccomp.run_filter(threads=True)
    for name in ("nanosleep", "clock_nanosleep", "ppoll", "pselect6", "setitimer", "timer_create", "rt_sigtimedwait"):
        assert decide(alone, number(name)) == decide(threads, number(name)) == refusal(errno.EPERM)
    assert decide(alone, number("sched_yield")) == refusal(errno.EPERM)
    assert decide(threads, number("sched_yield")) == ALLOW
    for wakes in (1, 129):
        assert decide(alone, number("futex"), 4096, wakes, 1, 4096) == ALLOW
    for waits in (0, 128, 137, 393):
        assert decide(alone, number("futex"), 4096, waits, 0, 0) == ALLOW
        assert decide(alone, number("futex"), 4096, waits, 0, 4096) == refusal(errno.EPERM)
        assert decide(threads, number("futex"), 4096, waits, 0, 4096) == ALLOW


def test_no_mapping_grows_over_its_neighbours() -> None:
    assert decide(seccomp.run_filter(threads=True), number("mremap")) == refusal(errno.EPERM)


def test_the_nest_filter_adds_forking_and_little_else() -> None:
    program = seccomp.nest_filter()
    for name in ("clone", "clone3", "wait4", "prctl", "capset", "recvmsg", "read"):
        assert decide(program, number(name)) == ALLOW
    for name in ("socket", "execve", "mount", "unshare", "setns", "ptrace", "kill", "pidfd_open", "memfd_create"):
        assert decide(program, number(name)) == refusal(errno.EPERM)


@pytest.mark.parametrize("namespaced", [True, False])
def test_the_build_filter_lets_compilers_work(namespaced: bool) -> None:
    program = seccomp.build_filter(namespaced)
    for name in ("read", "execve", "openat", "readlinkat", "getcwd", "setrlimit", "pselect6"):
        assert decide(program, number(name)) == ALLOW
    assert decide(program, number("clone"), 17) == ALLOW
    assert decide(program, number("fcntl"), 3, 1) == ALLOW
    assert decide(program, number("prlimit64"), 0, 3, 4096, 0) == ALLOW


@pytest.mark.parametrize("namespaced", [True, False])
def test_the_build_filter_refuses_doors_out(namespaced: bool) -> None:
    program = seccomp.build_filter(namespaced)
    for name in ("socket", "ptrace", "mount", "unshare", "setsid", "io_uring_setup", "memfd_create", "bpf", "keyctl"):
        assert decide(program, number(name)) == refusal(errno.EPERM)
    assert decide(program, number("clone"), 0x10000000 | 17) == refusal(errno.EPERM)
    assert decide(program, number("clone3")) == refusal(errno.ENOSYS)
    assert decide(program, 452) == refusal(errno.ENOSYS)
    assert decide(program, number("prlimit64"), 1234, 0, 4096, 0) == refusal(errno.EPERM)
    for command in (8, 10, 15):
        assert decide(program, number("fcntl"), 3, command, 1234) == refusal(errno.EPERM)


@pytest.mark.parametrize("namespaced", [True, False])
def test_who_builds_alone_starts_nothing_beside_itself(namespaced: bool) -> None:
    program = seccomp.build_filter(namespaced, alone=True)
    for name in ("clone", "fork", "vfork"):
        assert number(name) < 0 or decide(program, number(name), 17) == refusal(errno.EPERM)
    assert decide(program, number("clone3")) == refusal(errno.ENOSYS)
    assert decide(program, number("openat")) == ALLOW


def test_without_namespaces_the_build_filter_refuses_what_landlock_does_not_see() -> None:
    for name in ("kill", "tgkill", "fchmodat", "fchownat", "utimensat", "setxattr"):
        assert decide(seccomp.build_filter(False), number(name)) == refusal(errno.EPERM)
        assert decide(seccomp.build_filter(True), number(name)) == ALLOW


@pytest.mark.parametrize("program", [seccomp.run_filter, seccomp.build_filter])
def test_other_numberings_of_calls_are_deadly(program: Callable[[bool], bytes], architecture: str) -> None:
    foreign = next(arch for name, arch in AUDIT_ARCH.items() if name != architecture)
    assert decide(program(True), number("read"), arch=foreign) == KILL
    if architecture == "x86_64":
        assert decide(program(True), 0x40000000 + number("read")) == KILL


def test_programs_fit_into_the_kernel() -> None:
    assert all(len(p) // 8 < 4096 for p in (seccomp.run_filter(True), seccomp.build_filter(False)))
