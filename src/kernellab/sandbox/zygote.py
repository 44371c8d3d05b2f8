"""The zygote: a small process with everything imported, from which each confined job is forked in milliseconds.

It is started with an empty environment and one socket. It enters its namespaces once (tier T1), then forks a job for
every request: first fork -> own pid namespace -> second fork -> limits, Landlock, seccomp -> the job's entry
function. The middle process ends at once, so that the job becomes a child of the laboratory, which alone waits for it.
A spare is such a job that is forked ahead and waits, still the laboratory's own code alone, for its request on a socket of
its own: it is confined when it has one, as any other.
When the laboratory is gone (end of file on the socket) the zygote kills what it started and ends.

Covered: no inherited descriptor but the job's own, empty environment but a whitelist, whole job killed with its
first process (pid namespace) or process group. Not covered: see the files for each layer.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kernellab.sandbox import landlock, libc, limits, namespaces, scratch, seccomp

Tier = Literal["T1", "T2", "T3", "T0"]
Profile = Literal["build", "compile", "record", "run", "nest"]
_BUILDS: tuple[Profile, ...] = ("build", "compile", "record")
NAMESPACED: tuple[Tier, ...] = ("T1", "T3")
LANDLOCKED: tuple[Tier, ...] = ("T1", "T2")
MAX_MESSAGE = 1 << 16
SPARE = b"spare"
_PRELOADED = """
    math cmath random itertools functools operator collections dataclasses enum typing textwrap string re struct
    fractions decimal statistics copy contextlib warnings numbers bisect heapq json ctypes subprocess numpy
""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Request:
    """One job: what to run, how confined, on which cores. Descriptors travel beside it.

    `files` names what is laid into the scratch folder before the job is confined: a descriptor, an offset and a size.
    """

    entry: str
    profile: Profile
    limits: limits.Limits
    threads: int
    cpus: list[int]
    scratch: str
    files: dict[str, tuple[int, int, int]]

    def encode(self) -> bytes:
        return json.dumps({**self.__dict__, "limits": self.limits.__dict__}).encode()

    @staticmethod
    def decode(data: bytes) -> Request:
        raw: dict[str, Any] = json.loads(data)
        return Request(**{**raw, "limits": limits.Limits(**raw["limits"])})


class _Forked(BaseException):
    """Raised in a new job to leave the zygote's frames: how many jobs there were before is none of its business."""

    def __init__(self, request: Request | None, fds: list[int]) -> None:
        self.request, self.fds = request, fds


def main(tier: Tier, fd: int, preload: list[str], trees: list[str], self_exe: str) -> None:
    control = socket.socket(fileno=fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # imports cause many collections, and modules are there to stay
    try:
        _check_landlock(tier)
        _check_namespaces(tier, trees, self_exe)
        for module in (*_PRELOADED, *preload):
            importlib.import_module(module)
        if tier in NAMESPACED:
            _check_threads()
            namespaces.enter(trees, self_exe)
        elif os.getuid() == 0 and tier != "T0":
            namespaces.drop_to_private_uid()
        libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
        if tier != "T0":
            limits.drop_bounding_set()
            seccomp.nest_filter()  # made once, for all
    except (OSError, ImportError) as err:
        control.send(b"failed " + str(err).encode())
        return
    gc.freeze()
    gc.enable()
    control.send(b"ready")
    try:
        _serve(tier, control, trees)
        os._exit(0)  # taking down all that was imported would take as long as a job
    except _Forked as forked:
        request, fds = forked.request, forked.fds
    _job(tier, request, control, fds, trees)


def _check_landlock(tier: Tier) -> None:
    version = landlock.abi()
    if tier in LANDLOCKED and version == 0:
        raise OSError("this kernel has no Landlock")
    if tier not in NAMESPACED and tier in LANDLOCKED and version < landlock.SEES_TRUNCATION:
        raise OSError(f"this kernel's Landlock (version {version}) does not see truncation; Linux 6.2 or later does")


def _check_namespaces(tier: Tier, trees: list[str], self_exe: str) -> None:
    """Tried in a child that ends, so that a tier that does not work here is known before seconds of imports, not after."""
    if tier not in NAMESPACED:
        return
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            namespaces.enter(trees, self_exe)
        except OSError as err:
            os.write(write_end, str(err).encode() or b"no reason given")
        finally:
            os._exit(0)
    os.close(write_end)
    reason = os.read(read_end, 4096)
    os.close(read_end)
    os.waitpid(child, 0)
    if reason:
        raise OSError(reason.decode(errors="replace"))


def _check_threads() -> None:
    """A process with several threads gets no user namespace. The kernel's own words for it say nothing of threads."""
    names = sorted(Path(f"/proc/self/task/{task}/comm").read_text().strip() for task in os.listdir("/proc/self/task"))
    if len(names) > 1:
        told = [t.name for t in threading.enumerate() if t is not threading.main_thread()] or names
        raise OSError(f"what it imports has started threads ({', '.join(told)}), and such a process gets no namespaces")


def _serve(tier: Tier, control: socket.socket, trees: list[str]) -> None:
    started: dict[int, int] = {}  # pid -> pidfd, which alone tells a job from a later process with its number
    folders: set[str] = set()
    # A laboratory that dies between two messages resets the connection.
    with contextlib.suppress(ConnectionError):
        while message := _receive(control):
            data, fds = message
            for pid in [pid for pid, pidfd in started.items() if not _alive(pidfd)]:
                os.close(started.pop(pid))
            request = None if data == SPARE else Request.decode(data)
            folders = {f for f in (*folders, request.scratch if request else "") if f and os.path.exists(f)}
            try:
                report = _start(tier, request, fds)
            except OSError as err:
                report = str(err).encode()
            if report.isdigit():
                started[int(report)] = os.pidfd_open(int(report))  # the laboratory cannot have reaped it yet
            answer = b"forked" if report.isdigit() else b"failed " + report
            if request is None:
                _tell(fds[0], answer)
            else:
                control.send(answer)
            for fd in fds:
                os.close(fd)
    _end(tier, started, folders)


def _tell(fd: int, answer: bytes) -> None:
    """To whoever asked for a spare, if he still wants it."""
    with socket.socket(fileno=os.dup(fd)) as asked, contextlib.suppress(OSError):
        asked.send(answer)


def _start(tier: Tier, request: Request | None, fds: list[int]) -> bytes:
    """The pid of the new job, or why there is none."""
    read_end, write_end = os.pipe()
    middle = os.fork()
    if middle == 0:
        _middle(tier, request, fds, read_end, write_end)
    os.close(write_end)
    report = os.read(read_end, 4096)
    os.close(read_end)
    os.waitpid(middle, 0)
    return report or b"the job's parent ended early"


def _end(tier: Tier, started: dict[int, int], folders: set[str]) -> None:
    """The laboratory is gone: so are its jobs, and their scratch folders with them."""
    for pid, pidfd in started.items():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if tier not in NAMESPACED and _alive(pidfd):
                os.killpg(pid, signal.SIGKILL)
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            select.select([pidfd], [], [], 1.0)
    for folder in folders:
        with contextlib.suppress(OSError):
            scratch.remove(folder)


def _alive(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return not poll.poll(0)


def _middle(tier: Tier, request: Request | None, fds: list[int], read_end: int, write_end: int) -> None:
    """Between zygote and job: makes the pid namespace, forks the job into it, reports its pid and ends."""
    os.close(read_end)
    code, child = 1, -1
    try:
        if tier in NAMESPACED:
            libc.unshare(libc.CLONE_NEWPID)
        child = os.fork()
        if child:
            os.write(write_end, str(child).encode())
            code = 0
    except OSError as err:
        os.write(write_end, str(err).encode())
    finally:
        if child:
            os._exit(code)
    os.close(write_end)
    raise _Forked(request, fds)


def _job(tier: Tier, request: Request | None, control: socket.socket, fds: list[int], trees: list[str]) -> None:
    """fds[0] is the job's standard output and error, the rest its own; never returns."""
    code = 70
    try:
        os.setsid()
        if tier in NAMESPACED:
            namespaces.leave_mounts()
        if request is None:
            request, fds = _wait_for_request(fds)
        else:
            control.send(b"hello")
        for number in (signal.SIGXFSZ, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        keep = _take_descriptors(fds)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        confine(tier, request, trees)
        module, _, function = request.entry.partition(":")
        code = int(getattr(importlib.import_module(module), function)(list(range(3, keep))) or 0)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001  the job's boundary: whatever happened goes to its log
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
        os._exit(code & 0xFF)


def _wait_for_request(fds: list[int]) -> tuple[Request, list[int]]:
    """A spare's: it says hello on its own socket, and ends when that does."""
    with socket.socket(fileno=fds[0]) as own:
        own.send(b"hello")
        message = _receive(own)
    if message is None:
        raise SystemExit(0)
    return Request.decode(message[0]), message[1]


def _take_descriptors(fds: list[int]) -> int:
    """Descriptors 0, 1, 2 and the job's own from 3 on, and no other; their numbers in the zygote are forgotten."""
    null = os.open("/dev/null", os.O_RDONLY)
    high = [os.dup2(fd, 600 + i) for i, fd in enumerate([null, fds[0], *fds])]
    for i, fd in enumerate(high):
        os.dup2(fd, i)
    limits.close_descriptors(len(high))
    fds.clear()
    return len(high)


def confine(tier: Tier, request: Request, trees: list[str]) -> None:
    """Give away what the profile does not need. Order matters: mounts, limits, capabilities, Landlock, seccomp."""
    build = request.profile in _BUILDS
    folder = namespaces.SCRATCH if tier in NAMESPACED else request.scratch
    if tier in NAMESPACED:
        namespaces.mount_scratch(request.limits.scratch)
    for name, (fd, offset, size) in request.files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            os.sendfile(file.fileno(), fd, offset, size)
    os.chdir(folder)
    os.sched_setaffinity(0, request.cpus)
    if tier == "T0":
        return
    if tier in NAMESPACED and not build:
        namespaces.freeze_scratch()
    limits.apply(request.limits, 0 if tier in NAMESPACED else limits.threads_of(os.getuid()))
    limits.drop_capabilities(limits.NEST if request.profile == "nest" and tier in NAMESPACED else 0)
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    if tier in LANDLOCKED:
        readable = ["/"] if tier == "T1" else [*trees, "/dev/urandom", "/dev/zero", namespaces.PROCESSOR, folder]
        landlock.restrict(readable, [folder] if build else [], ["/dev/null"] if build else [])
    seccomp.install(_filter(tier, request))


def _filter(tier: Tier, request: Request) -> bytes:
    if request.profile in _BUILDS:
        return seccomp.build_filter(tier in NAMESPACED, request.profile == "compile", request.profile == "record")
    return seccomp.nest_filter() if request.profile == "nest" else seccomp.run_filter(request.threads > 1)


def _receive(control: socket.socket) -> tuple[bytes, list[int]] | None:
    """The next request and its descriptors, None at the end."""
    data, ancillary, _, _ = control.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(16 * 4))
    fds: list[int] = []
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received = array.array("i")
            received.frombytes(content[: len(content) - len(content) % received.itemsize])
            fds.extend(received)
    return (data, fds) if data else None
