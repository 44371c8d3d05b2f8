"""What a hostile kernel would try. Each function runs inside a job of its own (attacks.py), never anywhere else.

It returns the words of the refusal, and only a refusal of a kind that the sandbox gives counts: a wrong argument proves
nothing. Where an attack succeeds it does no harm: signals are number 0, values are set to what they are.
Covered: the ways listed here. Not covered: kernel bugs, side channels.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

from kernellab.sandbox import libc, syscalls
from kernellab.sandbox.host import ENVIRONMENT, NO_GPU
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.zygote import Profile

_REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
_NO_FILE = (*_REFUSALS, errno.ENOENT, errno.EROFS, errno.ENXIO, errno.ENOTDIR)
_NO_PROCESS = (*_REFUSALS, errno.ESRCH)
_TRIED = Limits(wall_s=10.0, cpu_s=10, memory=1 << 30, file_size=1 << 20, processes=24, scratch=8 << 20)
MARK = "klab-attack"


class GotThrough(Exception):
    """The attack did what it should not have been able to do."""


class NotApplicable(Exception):
    """The attack cannot be expressed on this machine, for the reason given."""


@dataclass(frozen=True)
class Target:
    """What an attack aims at, told by the laboratory."""

    processes: list[int]  # the laboratory and its zygote
    secret: str  # a file that everybody may read and write by its mode
    private: list[str]  # what lies in the user's home
    folders: list[str]  # where nothing may appear


@dataclass(frozen=True)
class Attack:
    name: str
    what: str
    profile: Profile
    tries: Callable[[Target], str]
    limits: Limits
    threads: int
    deadly: bool  # the job's death at a limit is the expected end


ATTACKS: list[Attack] = []


def _attack(
    what: str, *profiles: Profile, limits: Limits = _TRIED, threads: int = 1, deadly: bool = False
) -> Callable[[Callable[[Target], str]], Callable[[Target], str]]:
    def register(tries: Callable[[Target], str]) -> Callable[[Target], str]:
        name = tries.__name__.strip("_").replace("_", "-")
        ATTACKS.extend(Attack(name, what, p, tries, limits, threads, deadly) for p in profiles)
        return tries

    return register


def _refused(call: Callable[[], object], by: Collection[int] = _REFUSALS) -> str:
    """The name of the error, if it is one by which the sandbox refuses."""
    try:
        result = call()
    except OSError as err:
        name = errno.errorcode.get(err.errno or 0, str(err.errno))
        if err.errno in by:
            return name
        raise GotThrough(f"the kernel looked at it before it failed ({name})") from err
    raise GotThrough(f"succeeded ({result!r})"[:200])


def _all_refused(calls: Iterable[Callable[[], object]], by: Collection[int] = _REFUSALS) -> str:
    return ", ".join(dict.fromkeys(_refused(call, by) for call in calls))


def _raw(name: str, *args: object) -> int:
    number = syscalls.number(name)
    if number < 0:
        raise NotApplicable(f"{syscalls.machine()} has no call {name}")
    return libc.syscall(name, number, *args)


def _others(target: Target) -> list[int]:
    """In a pid namespace the laboratory's number may happen to be this job's own."""
    return [pid for pid in target.processes if pid != os.getpid()]


def _zeros(size: int) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(size)


# network

_FAMILIES = {
    "inet_tcp": (socket.AF_INET, socket.SOCK_STREAM), "inet_udp": (socket.AF_INET, socket.SOCK_DGRAM),
    "inet6_tcp": (socket.AF_INET6, socket.SOCK_STREAM), "unix_socket": (socket.AF_UNIX, socket.SOCK_STREAM),
    "netlink": (socket.AF_NETLINK, socket.SOCK_RAW), "vsock": (socket.AF_VSOCK, socket.SOCK_STREAM),
    "packet": (socket.AF_PACKET, socket.SOCK_RAW),
}  # fmt: skip


def _register_sockets() -> None:
    for name, (family, kind) in _FAMILIES.items():

        def tries(_: Target, family: int = family, kind: int = kind) -> str:
            return _refused(lambda: _raw("socket", int(family), int(kind), 0))

        tries.__name__ = name
        _attack(f"opens a socket of family {family.name}", "run", "build")(tries)


_register_sockets()


# processes


def _fork_and_end() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid


@_attack("forks", "run", "record")
def _fork(_: Target) -> str:
    return _refused(_fork_and_end)


@_attack("forks where threads are allowed", "run", threads=2)
def _fork_beside_threads(_: Target) -> str:
    return _refused(_fork_and_end)


@_attack("starts a program by vfork and execve", "run", "record")
def _spawn_program(_: Target) -> str:
    return _refused(lambda: os.posix_spawn("/bin/true", ["true"], {}))


@_attack("replaces itself by a program", "run")
def _execve(_: Target) -> str:
    return _refused(lambda: os.execve("/bin/true", ["true"], {}))


@_attack("makes a process by clone3, whose flags no filter can see", "run", "build")
def _clone3(_: Target) -> str:
    arguments = ctypes.create_string_buffer(struct.pack("=11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0), 88)

    def clone() -> int:
        pid = _raw("clone3", arguments, 88)
        if pid == 0:
            os._exit(0)
        return pid

    return _refused(clone)


@_attack("starts a thread where one thread is allowed", "run", "record")
def _thread_of_its_own(_: Target) -> str:
    try:
        _thread.start_new_thread(time.sleep, (0,))
    except RuntimeError as err:
        return str(err)
    raise GotThrough("a thread started")


@_attack("kills the laboratory, its zygote and everybody", "run", "build")
def _kill(target: Target) -> str:
    calls = [partial(_raw, "kill", pid, 0) for pid in (*_others(target), -1)]
    queued = [partial(_raw, "rt_sigqueueinfo", pid, 0, _zeros(128)) for pid in _others(target)]
    return _all_refused((*calls, *queued), _NO_PROCESS)


@_attack("has a pipe send a signal to the laboratory", "build")
def _signal_by_pipe(target: Target) -> str:
    reading, _ = os.pipe()
    return _all_refused([partial(fcntl.fcntl, reading, fcntl.F_SETOWN, p) for p in _others(target)], _NO_PROCESS)


@_attack("traces the laboratory", "run", "build")
def _ptrace(target: Target) -> str:
    return _all_refused([partial(_raw, "ptrace", 0x4206, pid, 0, 0) for pid in _others(target)], _NO_PROCESS)


@_attack("reads the laboratory's memory", "run", "build")
def _process_vm_readv(target: Target) -> str:
    buffer = _zeros(8)
    mine = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(buffer), 8), 16)
    theirs = ctypes.create_string_buffer(struct.pack("=QQ", 0x10000, 8), 16)
    calls = [partial(_raw, "process_vm_readv", pid, mine, 1, theirs, 1, 0) for pid in _others(target)]
    return _all_refused(calls, _NO_PROCESS)


@_attack("takes a handle on the laboratory", "run", "build")
def _pidfd(target: Target) -> str:
    return _all_refused([partial(_raw, "pidfd_open", pid, 0) for pid in _others(target)], _NO_PROCESS)


@_attack("reads other processes under /proc", "run", "build")
def _proc_of_others(target: Target) -> str:
    paths = [f"/proc/{pid}/{name}" for pid in (*_others(target), 1) for name in ("environ", "maps", "mem", "cmdline")]
    return _all_refused([partial(os.open, p, os.O_RDONLY) for p in paths], _NO_FILE)


# limits


@_attack("raises its own priority", "run", "build")
def _setpriority(_: Target) -> str:
    return _refused(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))


@_attack("takes more cores", "run", "build")
def _more_cores(_: Target) -> str:
    return _refused(lambda: os.sched_setaffinity(0, range(os.cpu_count() or 1)))


def _limit(pid: int, what: int, value: int) -> int:
    return _raw("prlimit64", pid, what, ctypes.create_string_buffer(struct.pack("=QQ", value, value), 16), None)


@_attack("raises its own limits", "run", "build")
def _raise_limits(_: Target) -> str:
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)
    return _all_refused([partial(_limit, 0, k, resource.getrlimit(k)[1] + 1) for k in kinds])


@_attack("lowers the laboratory's limits", "run", "build")
def _lower_limits_of_others(target: Target) -> str:
    return _all_refused([partial(_limit, p, resource.RLIMIT_CORE, 0) for p in _others(target)], _NO_PROCESS)


@_attack("allocates more than its memory limit", "run", "build")
def _memory_bomb(_: Target) -> str:
    kept = []
    try:
        for _i in range(32):
            kept.append(mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except OSError as err:
        if err.errno == errno.ENOMEM:
            return f"ENOMEM after {len(kept) * 64} MB of 1024"
        raise
    raise GotThrough("2 GB where 1 GB is allowed")


@_attack("computes on after its processor time is used up", "run", limits=Limits(wall_s=15, cpu_s=1), deadly=True)
def _cpu_bomb(_: Target) -> str:
    started = time.process_time()
    while time.process_time() - started < 5:
        pass
    raise GotThrough("5 s of processor time where 1 s is allowed")


@_attack("never ends", "run", "build", limits=Limits(wall_s=0.3), deadly=True)
def _endless(_: Target) -> str:
    until = time.monotonic() + 20
    while time.monotonic() < until:  # the run profile has no sleep
        continue
    raise GotThrough("slept for 20 s where 0.3 s are allowed")


@_attack("prints a gigabyte", "run", "build", deadly=True)
def _output_flood(_: Target) -> str:
    block = b"x" * (1 << 20)

    def flood() -> None:
        for _i in range(1024):
            os.write(1, block)

    return _refused(flood, (errno.EFBIG,))


@_attack("forks until nothing goes any more", "build")
def _fork_bomb(_: Target) -> str:
    for made in range(400):
        try:
            pid = os.fork()
        except BlockingIOError:
            return f"EAGAIN after {made} processes"
        if pid == 0:
            time.sleep(60)
            os._exit(0)
    raise GotThrough("400 processes where 24 are allowed")


@_attack("leaves a process behind (double fork, own session)", "build")
def _daemon(_: Target) -> str:
    if os.fork() == 0:
        with contextlib.suppress(OSError):
            os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    return "gone with the job"


@_attack("leaves a process behind and waits to be killed", "build", limits=Limits(wall_s=0.5), deadly=True)
def _daemon_at_timeout(target: Target) -> str:
    _daemon(target)
    return _endless(target)


@_attack("fills the disk through its scratch folder", "build", deadly=True)
def _fill_scratch(_: Target) -> str:
    def fill() -> None:
        for i in range(150):
            with open(f"fill-{i}", "wb") as file:
                file.write(b"x" * (1 << 20))
            time.sleep(0.01)

    return _refused(fill, (errno.ENOSPC, errno.EDQUOT))


@_attack("nests folders deeper than paths are long", "build", deadly=True)
def _nest_folders(_: Target) -> str:
    for _i in range(1500):
        os.mkdir("nested-folder")
        os.chdir("nested-folder")
    return "removed with the job"


# files


def _create(path: str) -> int:
    return os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)


@_attack("writes a file in its scratch folder", "run")
def _write_scratch(_: Target) -> str:
    return _refused(lambda: _create(MARK), _NO_FILE)


@_attack("writes outside its scratch folder", "run", "build")
def _write_outside(target: Target) -> str:
    return _all_refused([partial(_create, os.path.join(f, MARK)) for f in target.folders], _NO_FILE)


@_attack("makes folders and links outside its scratch folder", "build")
def _link_outside(target: Target) -> str:
    paths = [os.path.join(f, MARK) for f in target.folders]
    return _all_refused(
        [*(partial(os.mkdir, p) for p in paths), *(partial(os.symlink, "x", p) for p in paths)], _NO_FILE
    )


@_attack("reads the user's files and the run folder", "run", "build")
def _read_user_files(target: Target) -> str:
    private = [target.secret, "/etc/passwd", "/etc/hostname", os.path.dirname(target.secret), *target.private]
    return _all_refused([partial(os.open, p, os.O_RDONLY) for p in private], _NO_FILE)


@_attack("writes to and truncates the user's files", "run", "build")
def _change_user_files(target: Target) -> str:
    flags = (os.O_WRONLY, os.O_RDWR | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC)
    writes = [partial(os.open, target.secret, f) for f in flags]
    return _all_refused((*writes, lambda: os.truncate(target.secret, 0)), _NO_FILE)


@_attack("changes mode, owner, times and attributes of the user's files", "run", "build")
def _change_modes(target: Target) -> str:
    calls: list[Callable[[], object]] = []
    for path in (target.secret, __file__):
        calls += [partial(os.chmod, path, 0o600), partial(os.chown, path, os.getuid(), os.getgid())]
        calls += [partial(os.utime, path, (1, 1)), partial(os.setxattr, path, "user.klab", b"x")]
    return _all_refused(calls, _NO_FILE)


@_attack("changes the toolchain that later builds use", "run", "build")
def _change_toolchain(_: Target) -> str:
    folders = (os.path.dirname(__file__), sys.prefix, "/usr/bin", "/")
    creates = [partial(_create, os.path.join(f, MARK)) for f in folders]
    return _all_refused((*creates, lambda: os.open(__file__, os.O_WRONLY)), _NO_FILE)


@_attack("opens memory, disks and kernel log as devices", "run", "build")
def _devices(_: Target) -> str:
    names = "mem kmem port kmsg sda vda nvme0n1 fuse kvm tty console net/tun vsock userfaultfd shm"
    return _all_refused([partial(os.open, f"/dev/{n}", os.O_RDONLY) for n in names.split()], _NO_FILE)


@_attack("makes a device file", "run", "build")
def _mknod(_: Target) -> str:
    return _refused(lambda: os.mknod(MARK, stat.S_IFCHR | 0o666, os.makedev(1, 1)), _NO_FILE)


@_attack("writes kernel settings", "run", "build")
def _sysctl(_: Target) -> str:
    paths = (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/overcommit_memory",
        "/proc/self/oom_score_adj",
        "/sys/power/state",
    )
    return _all_refused([partial(os.open, p, os.O_WRONLY) for p in paths], _NO_FILE)


@_attack("makes files in memory, which no limit counts", "run", "build")
def _memfd(_: Target) -> str:
    shared = f"/dev/shm/{MARK}"
    return f"{_refused(lambda: os.memfd_create(MARK))}, {_refused(lambda: _create(shared), _NO_FILE)}"


@_attack("finds variables of the laboratory in its environment", "run", "build")
def _environment(_: Target) -> str:
    if strange := sorted(set(os.environ) - set(ENVIRONMENT) - set(NO_GPU)):
        raise GotThrough(f"found {', '.join(strange)}"[:200])
    return f"{len(os.environ)} variables, all on the list"


@_attack("finds open descriptors of the laboratory", "run", "build")
def _descriptors(_: Target) -> str:
    found = []
    for fd in range(6, 4096):
        with contextlib.suppress(OSError):
            os.fstat(fd)
            found.append(fd)
    if found:
        raise GotThrough(f"descriptors {found[:9]} are open")
    return "EBADF for every number but its own"


# kernel doors


@_attack("makes a user namespace, where it would be root", "run", "build")
def _user_namespace(_: Target) -> str:
    clone = partial(_raw, "clone", libc.CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    return _all_refused([partial(_raw, "unshare", libc.CLONE_NEWUSER), clone])


@_attack("mounts, changes its root", "run", "build")
def _mount(_: Target) -> str:
    old = [partial(libc.mount, "tmpfs", ".", "tmpfs", 0), partial(libc.umount, "/"), partial(os.chroot, ".")]
    return _all_refused([*old, partial(_raw, "fsopen", b"tmpfs", 0), partial(_raw, "open_tree", -100, b".", 1)])


@_attack("becomes root", "run", "build")
def _setuid(_: Target) -> str:
    return _all_refused([partial(os.setuid, 0), partial(os.setgid, 0), partial(os.setgroups, [0])])


@_attack("sets the clock", "run", "build")
def _clock(_: Target) -> str:
    now = ctypes.create_string_buffer(struct.pack("=qq", *divmod(time.time_ns(), 10**9)), 16)
    return _refused(lambda: _raw("clock_settime", 0, now))


@_attack("gets work done by the kernel through io_uring", "run", "build")
def _io_uring(_: Target) -> str:
    return _refused(lambda: _raw("io_uring_setup", 1, _zeros(120)))


@_attack("counts the laboratory's events, loads kernel programs, faults by hand", "run", "build")
def _kernel_tools(_: Target) -> str:
    event = ctypes.create_string_buffer(struct.pack("=II", 1, 128), 128)
    array = ctypes.create_string_buffer(struct.pack("=IIII", 2, 4, 4, 1), 64)
    calls = [partial(_raw, "perf_event_open", event, 0, -1, -1, 0), partial(_raw, "bpf", 0, array, 64)]
    return _all_refused([*calls, partial(_raw, "userfaultfd", 1)])


@_attack("stores data in the kernel's keyrings", "run", "build")
def _keys(_: Target) -> str:
    ask = [partial(_raw, "keyctl", 0, -3, 1), partial(_raw, "request_key", b"user", b"klab", None, -3)]
    return _all_refused([partial(_raw, "add_key", b"user", b"klab", b"x", 1, -3), *ask])


@_attack("leaves shared memory, semaphores and queues for a later job", "run", "build")
def _system_v(_: Target) -> str:
    calls = [partial(_raw, "shmget", 0, 4096, 0o1600), partial(_raw, "semget", 0, 1, 0o1600)]
    queue = partial(_raw, "mq_open", b"klab", os.O_CREAT | os.O_RDWR, 0o600, None)
    return _all_refused([*calls, partial(_raw, "msgget", 0, 0o1600), queue])


@_attack("switches off address randomisation", "run", "build")
def _personality(_: Target) -> str:
    return _refused(lambda: _raw("personality", 0x0040000))


@_attack("loads a kernel module, reboots, reads the kernel log", "run", "build")
def _kernel_control(_: Target) -> str:
    calls = [partial(_raw, "init_module", None, 0, b""), partial(_raw, "reboot", 0, 0, 0, None)]
    return _all_refused([*calls, partial(_raw, "syslog", 10, None, 0), partial(_raw, "sethostname", b"x", 1)])


@_attack("uses a system call newer than the filter", "run", "build")
def _unknown_call(_: Target) -> str:
    return _all_refused([partial(libc.syscall, f"call {n}", n, -1, 0, 0, 0) for n in (452, 457, 466, 600)])


@_attack("calls by the numbers of another interface (x32), past the filter", "run", "build", deadly=True)
def _other_interface(_: Target) -> str:
    if syscalls.machine() != "x86_64":
        raise NotApplicable(f"{syscalls.machine()} has one table of calls")
    return _refused(lambda: libc.syscall("x32 getpid", 0x40000000 + syscalls.number("getpid")))
