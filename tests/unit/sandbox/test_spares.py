"""Jobs that are forked ahead of their request: like any other, and gone with the sandbox."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.job import Job

from . import jobs
from .conftest import PATIENT


def spawn(sandbox: Sandbox, entry: str, *fds: int, **more: Any) -> Job:
    return sandbox.spawn(f"{jobs.__name__}:{entry}", "nest", PATIENT, fds, **more)


def children() -> set[int]:
    return {int(pid) for pid in Path("/proc/thread-self/children").read_text().split()}


@pytest.mark.parametrize("ahead", [0, 1])
def test_what_a_job_finds_is_the_same_whether_it_was_forked_ahead_or_not(
    sandbox: Sandbox, answer: int, ahead: int
) -> None:
    sandbox.spare(ahead)
    with spawn(sandbox, "tells_descriptors", answer) as job:
        assert job.wait() == 0
    assert json.loads(os.pread(answer, 4096, 0)) == [0, 1, 2, 3]
    sandbox.spare(ahead)
    os.pwrite(answer, b"a text", 0)
    found = os.memfd_create("found", os.MFD_CLOEXEC)
    with spawn(sandbox, "uses_placed_file", found, answer, files={"placed": (4, 0, 6)}) as job:
        job.wait()
        told = json.loads(os.pread(found, 4096, 0))
    os.close(found)
    assert told == {"text": "a text", "write": "refused", "create": "refused"}


def test_several_are_used_up_one_after_another_and_then_new_ones_are_forked(sandbox: Sandbox) -> None:
    sandbox.spare(2)
    for _ in range(4):
        with spawn(sandbox, "seven") as job:
            job.wait()
            assert job.exit_code() == 7


def test_one_that_has_ended_meanwhile_is_replaced() -> None:
    with Sandbox("T1", [jobs.__name__]) as sandbox:
        before = children()
        sandbox.spare(1)
        while not (forked := children() - before):
            pass
        for pid in forked:
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with spawn(sandbox, "seven") as job:
            job.wait()
            assert job.exit_code() == 7
        for pid in forked:
            os.waitpid(pid, 0)


def test_those_nobody_wanted_end_with_the_sandbox() -> None:
    before = children()
    with Sandbox("T0", [jobs.__name__]) as other:
        other.spare(3)
    with Sandbox("T1", [jobs.__name__]) as namespaced:
        namespaced.spare(3)
    assert children() == before


def test_a_discarded_job_is_gone_when_the_sandbox_is() -> None:
    before = children()
    with Sandbox("T1", [jobs.__name__]) as sandbox:
        for _ in range(3):
            sandbox.discard(spawn(sandbox, "sleeps"))
    assert children() == before
