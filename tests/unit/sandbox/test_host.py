"""The contract of a sandbox tier. Every tier that starts on this machine must fulfil it."""

from __future__ import annotations

import errno
import json
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.sandbox.host import ENVIRONMENT, Sandbox
from kernellab.sandbox.job import Job
from kernellab.sandbox.limits import Limits
from kernellab.sandbox.zygote import Profile

from . import jobs
from .conftest import PATIENT

PROFILES: tuple[Profile, ...] = ("run", "build")


def spawn(
    sandbox: Sandbox, entry: Callable[[list[int]], object], profile: Profile, *fds: int,
    limits: Limits = PATIENT, cpus: list[int] | None = None, files: dict[str, tuple[int, int, int]] | None = None,
) -> Job:  # fmt: skip
    return sandbox.spawn(f"{jobs.__name__}:{entry.__name__}", profile, limits, fds, cpus=cpus, files=files)


def said(fd: int) -> Any:
    return json.loads(os.pread(fd, 1 << 16, 0))


def wait_for_answer(fd: int) -> Any:
    deadline = time.monotonic() + 600
    while not os.fstat(fd).st_size and time.monotonic() < deadline:
        time.sleep(0.002)
    return said(fd)


class Leash:
    """A pipe whose writing end every process of a job holds: free when all of them are gone."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe2(os.O_CLOEXEC)

    def free_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.reading, select.POLLIN)
        return any(event & select.POLLHUP for _, event in poll.poll(seconds * 1000))

    def hand_over(self) -> None:
        os.close(self.writing)


@pytest.fixture
def leash() -> Iterator[Leash]:
    made = Leash()
    yield made
    os.close(made.reading)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder for temporary files that every user can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


@pytest.mark.parametrize("profile", PROFILES)
def test_returns_the_exit_code_of_a_job(sandbox: Sandbox, profile: Profile) -> None:
    with spawn(sandbox, jobs.seven, profile) as job:
        job.wait()
        assert (job.exit_code(), job.signal(), job.timed_out) == (7, None, False)


def test_waiting_twice_gives_the_same_status(sandbox: Sandbox) -> None:
    with spawn(sandbox, jobs.seven, "run") as job:
        assert job.wait() == job.wait()


@pytest.mark.parametrize("profile", PROFILES)
def test_keeps_what_a_job_prints(sandbox: Sandbox, profile: Profile) -> None:
    with spawn(sandbox, jobs.prints, profile) as job:
        job.wait()
        assert job.log() == "hello from the job\nand from its error stream\n"


def test_an_exception_goes_to_the_log(sandbox: Sandbox) -> None:
    with spawn(sandbox, jobs.raises, "run") as job:
        job.wait()
        assert job.exit_code() == 70
        assert "ValueError: a fault of the job" in job.log()


def test_cuts_a_flood_of_output(sandbox: Sandbox) -> None:
    with spawn(sandbox, jobs.floods, "run", limits=Limits(wall_s=600, file_size=1 << 20)) as job:
        job.wait()
        assert not job.timed_out
        assert job.flooded()
        assert job.signal() == signal.SIGXFSZ or job.exit_code() == 70
        assert len(job.log()) <= 64 << 10


def test_a_time_out_kills_every_process_of_the_job(sandbox: Sandbox, leash: Leash) -> None:
    job = spawn(sandbox, jobs.forks_and_sleeps, "build", leash.writing, limits=Limits(wall_s=0.3))
    leash.hand_over()
    with job:
        job.wait()
        assert job.timed_out
        assert job.signal() == signal.SIGKILL
        assert leash.free_within(600)


def test_nothing_outlives_a_job_that_ends_by_itself(sandbox: Sandbox, leash: Leash) -> None:
    job = spawn(sandbox, jobs.forks_and_ends, "build", leash.writing)
    leash.hand_over()
    with job:
        job.wait()
        assert job.exit_code() == 0
        assert leash.free_within(600)


def test_stop_freezes_and_resume_goes_on(sandbox: Sandbox, answer: int) -> None:
    os.ftruncate(answer, 4096)
    shared = mmap.mmap(answer, 4096)

    def count() -> int:
        return int(struct.unpack_from("q", shared, 0)[0])

    def moves_on(from_: int) -> bool:
        deadline = time.monotonic() + 600
        while count() == from_ and time.monotonic() < deadline:
            time.sleep(0.001)
        return count() > from_

    with spawn(sandbox, jobs.counts, "run", answer) as job:
        assert moves_on(0)
        for _ in range(3):
            job.stop()
            job.stop()  # once more does no harm
            frozen = count()
            time.sleep(0.03)
            assert count() == frozen
            job.resume()
            assert moves_on(frozen)
        job.stop()
        job.kill()
        assert job.signal() == signal.SIGKILL


def test_stopping_a_job_that_has_ended_notices_the_end(sandbox: Sandbox) -> None:
    with spawn(sandbox, jobs.seven, "run") as job:
        os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)
        job.stop()
        assert job.exit_code() == 7


@pytest.mark.parametrize("profile", PROFILES)
def test_the_environment_is_the_list_and_nothing_else(
    sandbox: Sandbox, profile: Profile, answer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KLAB_TEST_SECRET", "do not tell")
    with spawn(sandbox, jobs.tells_environment, profile, answer) as job:
        job.wait()
    assert said(answer) == sorted(ENVIRONMENT)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_job_has_no_descriptor_but_its_own(sandbox: Sandbox, profile: Profile, answer: int) -> None:
    with open(__file__) as _, spawn(sandbox, jobs.tells_descriptors, profile, answer) as job:
        job.wait()
    assert said(answer) == [0, 1, 2, 3]


def test_a_job_runs_on_the_cores_it_was_given(sandbox: Sandbox, answer: int) -> None:
    core = max(os.sched_getaffinity(0))
    with spawn(sandbox, jobs.tells_cores, "run", answer, cpus=[core]) as job:
        job.wait()
    assert said(answer) == [core]


@pytest.mark.parametrize(("profile", "writing"), [("run", "refused"), ("build", "opened")])
def test_placed_files_are_readable_and_read_only_when_running(
    sandbox: Sandbox, profile: Profile, writing: str, answer: int
) -> None:
    source = os.memfd_create("source", os.MFD_CLOEXEC)
    os.write(source, b"this is placed before confinement, and this is not")
    with spawn(sandbox, jobs.uses_placed_file, profile, answer, source, files={"placed": (4, 8, 25)}) as job:
        job.wait()
    os.close(source)
    assert said(answer) == {"text": "placed before confinement", "write": writing, "create": writing}


def test_placed_files_may_lie_in_folders(sandbox: Sandbox, answer: int) -> None:
    with spawn(sandbox, jobs.reads_below, "run", answer, answer, files={"deep/down/placed": (4, 0, 0)}) as job:
        job.wait()
    assert said(answer) == ""


@pytest.mark.parametrize(("profile", "told"), [("compile", "granted True"), ("build", "refused True")])
def test_nobody_leaves_the_jobs_process_group(sandbox: Sandbox, profile: Profile, told: str, answer: int) -> None:
    with spawn(sandbox, jobs.wants_a_group, profile, answer) as job:
        job.wait()
    assert said(answer) == told


def test_jobs_do_not_see_each_others_scratch(sandbox: Sandbox, answer: int) -> None:
    second = os.memfd_create("second", os.MFD_CLOEXEC)
    with spawn(sandbox, jobs.leaves_a_file, "build", answer) as first:
        wait_for_answer(answer)
        with spawn(sandbox, jobs.looks_for, "build", answer, second) as other:
            other.wait()
            found = said(second)
        first.kill()
    os.close(second)
    assert found["listed"] == []
    assert found["opened"] in ("FileNotFoundError", "refused")


def test_scratch_is_limited_in_size(sandbox: Sandbox, answer: int) -> None:
    with spawn(sandbox, jobs.fills_scratch, "build", answer, limits=Limits(wall_s=600, scratch=2 << 20)) as job:
        job.wait()
        assert not job.timed_out
        if job.signal() is None:
            assert said(answer) == errno.ENOSPC
        else:
            assert job.signal() == signal.SIGKILL  # by the laboratory, which watches the folder


def test_scratch_is_gone_with_the_job(sandbox: Sandbox, reachable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(reachable))
    with spawn(sandbox, jobs.nests_folders, "build", limits=Limits(wall_s=600, scratch=64 << 20)) as job:
        job.wait()
        assert job.exit_code() == 0 or job.signal() == signal.SIGKILL
    assert list(reachable.iterdir()) == []


def test_a_temporary_folder_that_jobs_cannot_reach_is_not_used(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with spawn(sandbox, jobs.seven, "build") as job:
        job.wait()
        assert job.exit_code() == 7


def test_a_crashed_job_harms_nobody(sandbox: Sandbox) -> None:
    with spawn(sandbox, jobs.crashes, "run") as job:
        job.wait()
        assert job.signal() == signal.SIGSEGV
    with spawn(sandbox, jobs.seven, "run") as job:
        job.wait()
        assert job.exit_code() == 7


def test_an_unknown_entry_is_a_failed_job(sandbox: Sandbox) -> None:
    with sandbox.spawn(f"{jobs.__name__}:no_such_function", "run", Limits(), []) as job:
        job.wait()
        assert job.exit_code() == 70
        assert "no_such_function" in job.log()


_LABORATORY = """
import sys, time
sys.path[:0] = {path!r}
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
sandbox = Sandbox({tier!r}, [{jobs!r}])
job = sandbox.spawn("{jobs}:forks_and_sleeps", "build", Limits(), [{leash}])
print("started", flush=True)
time.sleep(60)
"""


def test_jobs_die_with_a_laboratory_that_is_killed(sandbox: Sandbox, leash: Leash, reachable: Path) -> None:
    script = _LABORATORY.format(path=sys.path, tier=sandbox.tier, jobs=jobs.__name__, leash=leash.writing)
    laboratory = subprocess.Popen([sys.executable, "-c", script], pass_fds=[leash.writing], stdout=subprocess.PIPE,
                                  env={**os.environ, "TMPDIR": str(reachable)})  # fmt: skip
    leash.hand_over()
    with laboratory:
        assert laboratory.stdout is not None
        assert laboratory.stdout.readline() == b"started\n"
        assert not leash.free_within(0)
        laboratory.kill()
    assert leash.free_within(600)
    deadline = time.monotonic() + 600
    while any(reachable.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.002)
    assert list(reachable.iterdir()) == []


def test_a_closed_sandbox_leaves_no_zygote(sandbox: Sandbox) -> None:
    other = Sandbox(sandbox.tier, [])
    pid = other.zygote_pid
    other.close()
    assert not Path(f"/proc/{pid}").exists()


def test_refuses_an_unknown_tier() -> None:
    with pytest.raises(UsageError, match="T9") as caught:
        Sandbox("T9", [])  # type: ignore[arg-type]
    assert "T1" in caught.value.fix


def test_a_module_that_does_not_import_is_said_so() -> None:
    with pytest.raises(EnvironmentFault, match="no_such_module_anywhere"):
        Sandbox("T0", ["no_such_module_anywhere"])
