"""The self-attack behind `klab doctor`: every attack of hostile.py, tried in a real job of the sandbox at hand.

What can be seen from outside is checked from outside: files that must not appear, modes of files and limits of the
laboratory, and a leash (a pipe that every process of the job holds) that must be free once the job has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import stat
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from kernellab.sandbox import hostile
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.job import Job
from kernellab.sandbox.zygote import Profile

_PACKAGE = os.path.dirname(__file__)


@dataclass(frozen=True)
class AttackResult:
    """`blocked` is true only for an attack that was carried out; where `applicable` is false, `how` says why."""

    name: str
    what: str
    profile: Profile
    blocked: bool
    how: str
    seconds: float
    applicable: bool = True


def main(fds: list[int]) -> int:
    """Sandbox entry: request on the first descriptor, verdict on the second; the third is the leash."""
    request: dict[str, Any] = json.loads(os.pread(fds[0], 1 << 20, 0))
    attack = next(a for a in hostile.ATTACKS if (a.name, a.profile) == (request["attack"], request["profile"]))
    verdict = {"blocked": False, "applicable": True}
    try:
        answer = {**verdict, "blocked": True, "how": attack.tries(hostile.Target(**request["target"]))}
    except hostile.GotThrough as err:
        answer = {**verdict, "how": str(err)}
    except hostile.NotApplicable as err:
        answer = {**verdict, "applicable": False, "how": str(err)}
    os.write(fds[1], json.dumps(answer).encode())
    return 0


def self_attack(sandbox: Sandbox) -> list[AttackResult]:
    """Carry out every attack in a job of its own."""
    if sandbox.tier == "T0":
        raise ValueError("tier T0 confines nothing: an attack there would succeed, and do harm")
    with tempfile.TemporaryDirectory(prefix="klab-target-") as folder:
        os.chmod(folder, 0o777)
        secret = os.path.join(folder, "secret")
        home = os.path.expanduser("~")
        folders = dict.fromkeys([folder, home, tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm", "/", _PACKAGE])
        processes = [os.getpid(), sandbox.zygote_pid]
        target = hostile.Target(processes, secret, _private(home, sandbox.trees), list(folders))
        return [_carry_out(sandbox, attack, target) for attack in hostile.ATTACKS]


def _private(home: str, trees: list[str]) -> list[str]:
    """Things in the home folder that no job may read: all but the way to an interpreter that is installed there."""
    with contextlib.suppress(OSError):
        paths = (os.path.join(home, name) for name in sorted(os.listdir(home)))
        return [p for p in paths if not any(t == p or t.startswith(p + "/") for t in trees)][:50]
    return []


def _carry_out(sandbox: Sandbox, attack: hostile.Attack, target: hostile.Target) -> AttackResult:
    started = time.monotonic()
    with open(target.secret, "w") as file:
        file.write("secret")
    os.chmod(target.secret, 0o666)
    before = _seen_from_outside(target)
    request = {"attack": attack.name, "profile": attack.profile, "target": target.__dict__}
    with contextlib.ExitStack() as stack:
        files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("request", "verdict")]
        held, leash = os.pipe2(os.O_CLOEXEC)
        for fd in (*files, held):
            stack.callback(os.close, fd)
        os.write(files[0], json.dumps(request).encode())
        cpus = [min(os.sched_getaffinity(0))]
        try:
            job = sandbox.spawn("kernellab.sandbox.attacks:main", attack.profile, attack.limits, [*files, leash],
                                threads=attack.threads, cpus=cpus)  # fmt: skip
        finally:
            os.close(leash)
        with job:
            job.wait()
            answer = os.pread(files[1], 1 << 16, 0)
            blocked, how, applicable = _judge(attack, job, answer)
        if changed := _seen_from_outside(target) ^ before:
            blocked, how = False, f"visible outside: {', '.join(sorted(changed))}"[:300]
        if not _let_go(held):
            blocked, how = False, "a process of the job is still alive"
    return AttackResult(attack.name, attack.what, attack.profile, blocked, how, time.monotonic() - started, applicable)


def _judge(attack: hostile.Attack, job: Job, answer: bytes) -> tuple[bool, str, bool]:
    if answer:
        verdict = json.loads(answer)
        return bool(verdict["blocked"]), str(verdict["how"]), bool(verdict["applicable"])
    number = job.signal()
    if number is None:
        return False, f"no verdict, exit code {job.exit_code()}: {job.log()[-200:]}", True
    by_limit = attack.deadly or number == signal.SIGSYS
    how = f"killed after {job.limits.wall_s:g} s" if job.timed_out else f"killed by {signal.Signals(number).name}"
    return by_limit, how, True


def _seen_from_outside(target: hostile.Target) -> set[str]:
    """What must be the same after an attack as before, in words."""
    found = {path for f in target.folders if os.path.lexists(path := os.path.join(f, hostile.MARK))}
    found |= {path for f in (sys.prefix, "/usr/bin") if os.path.lexists(path := os.path.join(f, hostile.MARK))}
    for path in (target.secret, hostile.__file__):
        status = os.stat(path)
        found.add(f"{path} {stat.filemode(status.st_mode)} {status.st_uid} {status.st_size} {status.st_mtime_ns}")
    found.add(f"core limit {resource.getrlimit(resource.RLIMIT_CORE)}")
    found.add(f"priority {os.getpriority(os.PRIO_PROCESS, 0)}")
    return found


def _let_go(held: int) -> bool:
    """Whether every process that held the other end of the leash is gone (within two seconds)."""
    poll = select.poll()
    poll.register(held, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(2000))
