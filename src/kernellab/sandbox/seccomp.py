"""System-call filters (classic BPF through prctl).

Covered: the run profile is an allow-list (no exec, fork, sockets, memfd; no signal to anybody but SIGABRT to itself; no
sleeping, yielding or timers, so that no sample is made to look disturbed; no growing of a mapping over its neighbours;
threads, and what they need to wait for each other, only when asked for). The nest profile, for the laboratory's own
code that forks samples, adds forking and what a child needs to confine itself further. The build profile is a deny-list
(compilers need much) without sockets, ptrace, mounts, keys, namespaces. The compile profile, for a build tool that gives
each of its compilers a process group, is the same: setpgid does nothing there and says that all is well. The record
profile, for a candidate's Python that only says what is to be launched, starts neither process nor thread.
Where there is no private root (tier T2), modes, owners, times and attributes of files are refused as well: Landlock
does not know them. Not covered: what an allowed call does with its file arguments (Landlock and the private root see
to that).
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from functools import cache

from kernellab.sandbox import libc
from kernellab.sandbox.syscalls import AUDIT_ARCH, machine, number

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD = 0x00010000
_THREAD_FLAGS = 0x017D0F00
"""What starts a thread: memory, files, signals and identity shared, and where its number and its own memory go. Not
CLONE_VFORK: who waits for a thread that way cannot be stopped, and looks like a machine that stands still."""
_NAMESPACE_FLAGS = 0x7E020080

# ruff: noqa: SIM905  a table of words reads better than a list of quotes
_RUN = """
    read write close mmap munmap mprotect brk madvise exit exit_group rt_sigaction rt_sigprocmask rt_sigreturn
    sigaltstack getpid gettid getppid getuid geteuid getgid getegid clock_gettime clock_getres gettimeofday
    set_robust_list rseq set_tid_address openat open fstat newfstatat stat lstat statx lseek pread64 readv writev
    getrandom sched_getaffinity sysinfo uname readlink readlinkat restart_syscall getcwd access faccessat
    faccessat2 getdents64 arch_prctl times getcpu
""".split()

_NEST = """
    futex mremap sched_yield clone clone3 wait4 waitid recvmsg sendmsg sendto dup dup2 dup3 close_range prctl capset
    prlimit64
""".split()

_BUILD_DENIED = """
    socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvmsg recvfrom recvmmsg memfd_create
    memfd_secret ptrace process_vm_readv process_vm_writev kcmp pidfd_open pidfd_getfd pidfd_send_signal rt_sigqueueinfo
    rt_tgsigqueueinfo mount umount2 pivot_root chroot unshare setns move_mount open_tree fsopen fsmount fsconfig fspick
    mount_setattr keyctl add_key request_key bpf perf_event_open userfaultfd io_uring_setup io_uring_enter
    io_uring_register init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff
    settimeofday clock_settime clock_adjtime adjtimex acct quotactl quotactl_fd personality iopl ioperm modify_ldt
    open_by_handle_at name_to_handle_at fanotify_init inotify_init inotify_init1 setuid setgid setreuid setregid
    setresuid setresgid setgroups setfsuid setfsgid capset seccomp shmget shmat shmctl semget semop semctl semtimedop
    msgget msgsnd msgrcv msgctl mq_open mq_unlink sethostname setdomainname syslog vhangup mbind migrate_pages
    move_pages set_mempolicy setpriority sched_setscheduler sched_setparam sched_setattr sched_setaffinity ioprio_set
    setsid setpgid process_madvise process_mrelease vmsplice
""".split()

# What Landlock lets pass: with the user's own uid these reach the user's files and processes.
_UNSEEN_BY_LANDLOCK = """
    kill tkill tgkill chmod fchmod fchmodat chown lchown fchown fchownat utime utimes futimesat utimensat setxattr
    lsetxattr fsetxattr removexattr lremovexattr fremovexattr
""".split()
_STARTS = ("clone", "fork", "vfork")
_FUTEX_WAKES = (1, 129)  # FUTEX_WAKE, shared and private
_NEWER = 451  # calls that came after this table was written; libc falls back to older ones
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _load_nr() -> bytes:
    return _op(_LD, 0)


def _load_arg(index: int, high: bool = False) -> bytes:
    return _op(_LD, 16 + 8 * index + (4 if high else 0))


def _null(index: int) -> bytes:
    """Go on with the next instruction when an argument is zero, else skip it."""
    return _load_arg(index) + _op(_JEQ, 0, 0, 3) + _load_arg(index, True) + _op(_JEQ, 0, 0, 1)


def _errno(code: int) -> bytes:
    return _op(_RET, _ERRNO | code)


def _on(name: str, body: bytes) -> bytes:
    """Run `body`, which must end in a return, when the call is `name`."""
    nr = number(name)
    if nr < 0:
        return b""
    return _load_nr() + _op(_JEQ, nr, 0, len(body) // 8) + body


def _prologue() -> bytes:
    program = _op(_LD, 4) + _op(_JEQ, AUDIT_ARCH[machine()], 1, 0) + _op(_RET, _KILL)
    if machine() == "x86_64":  # the x32 numbers would slip past every comparison
        program += _load_nr() + _op(_JGE, 0x40000000, 0, 1) + _op(_RET, _KILL)
    return program


def run_filter(threads: bool, process: int | None = None) -> bytes:
    """Everything that is not needed to compute is refused. `process`: who installs it, where that is not this one."""
    program = _prologue()
    for name in _RUN:
        program += _on(name, _op(_RET, _ALLOW))
    # abort() may signal this process, nobody else, and with nothing that goes on or comes back
    aborts = _load_arg(2) + _op(_JEQ, signal.SIGABRT, 0, 1) + _op(_RET, _ALLOW) + _errno(errno.EPERM)
    itself = _load_arg(0) + _op(_JEQ, os.getpid() if process is None else process, 1, 0) + _errno(errno.EPERM)
    program += _on("tgkill", itself + aborts)
    # reading a limit is fine, setting one is not
    program += _on("prlimit64", _null(2) + _op(_RET, _ALLOW) + _errno(errno.EPERM))
    if threads:
        program += _on("clone", _thread_only())
        program += _on("clone3", _errno(errno.ENOSYS))  # its flags sit behind a pointer: glibc falls back to clone
        program += _on("futex", _op(_RET, _ALLOW)) + _on("sched_yield", _op(_RET, _ALLOW))
    else:  # waking is fine; a wait that ends by itself would be a sleep
        wakes = _load_arg(1) + b"".join(_op(_JEQ, op, 0, 1) + _op(_RET, _ALLOW) for op in _FUTEX_WAKES)
        program += _on("futex", wakes + _null(3) + _op(_RET, _ALLOW) + _errno(errno.EPERM))
    return program + _errno(errno.EPERM)


def _thread_only() -> bytes:
    """A thread as a C library starts one, and nothing else that clone can do."""
    other = ~_THREAD_FLAGS & 0xFFFF_FFFF
    flags = _load_arg(0) + _op(_JSET, other, 1, 0) + _op(_JSET, _CLONE_THREAD, 1, 0) + _errno(errno.EPERM)
    return flags + _op(_RET, _ALLOW)


def nest_filter() -> bytes:
    """For trusted code that forks confined children: a run filter with forking. Each child adds its own."""
    return _nest_filter(machine())


@cache
def _nest_filter(_: str) -> bytes:
    program = _prologue()
    for name in (*_RUN, *_NEST):
        program += _on(name, _op(_RET, _ALLOW))
    program += _on("tgkill", _load_arg(2) + _op(_JEQ, signal.SIGABRT, 0, 1) + _op(_RET, _ALLOW) + _errno(errno.EPERM))
    return program + _errno(errno.EPERM)


def build_filter(namespaced: bool, groups: bool = False, alone: bool = False) -> bytes:
    """`namespaced`: whether a pid namespace contains signals, and a private root changes of modes, owners, times.

    `groups`: who asks for a process group is told that it has one, and stays in the job's.
    `alone`: no process and no thread beside this one."""
    program = _prologue() + _load_nr() + _op(_JGE, _NEWER, 0, 1) + _errno(errno.ENOSYS)
    if groups:
        program += _on("setpgid", _errno(0))
    for name in (*_BUILD_DENIED, *(_STARTS if alone else ())):
        program += _on(name, _errno(errno.EPERM))
    if not namespaced:
        for name in _UNSEEN_BY_LANDLOCK:
            program += _on(name, _errno(errno.EPERM))
    # the limits of this process, nobody else's: any process of the same user could otherwise be starved or killed
    program += _on("prlimit64", _load_arg(0) + _op(_JEQ, 0, 0, 1) + _op(_RET, _ALLOW) + _errno(errno.EPERM))
    # a pipe may not send signals (of any number) to a process of one's choice
    owner = b"".join(_op(_JEQ, c, 2 - i + 1, 0) for i, c in enumerate((_F_SETOWN, _F_SETSIG, _F_SETOWN_EX)))
    program += _on("fcntl", _load_arg(1) + owner + _op(_RET, _ALLOW) + _errno(errno.EPERM))
    program += _on("clone", _load_arg(0) + _op(_JSET, _NAMESPACE_FLAGS, 0, 1) + _errno(errno.EPERM) + _op(_RET, _ALLOW))
    program += _on("clone3", _errno(errno.ENOSYS))
    return program + _op(_RET, _ALLOW)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install(program: bytes) -> None:
    """Needs no_new_privs; holds for this thread and everything it starts."""
    described = _Program(len(program) // 8, program)
    libc.prctl(libc.PR_SET_SECCOMP, 2, ctypes.byref(described))
