"""Stopping real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from kernellab.sandbox.freeze import freeze, states

SPINS = "print('on', flush=True)\nwhile True: pass"
TWO = (
    "import threading\ndef f():\n    while True: pass\nthreading.Thread(target=f).start()\nprint('on', flush=True)\nf()"
)
Started = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def started() -> Iterator[Started]:
    running = []

    def start(code: str) -> subprocess.Popen[bytes]:
        running.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE))
        assert running[-1].stdout is not None
        assert running[-1].stdout.readline() == b"on\n"
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.parametrize("code", [SPINS, TWO], ids=["one thread", "two threads"])
def test_a_process_is_stopped_when_every_thread_is(code: str, started: Started) -> None:
    pid = started(code).pid
    assert freeze(pid, lambda: os.kill(pid, signal.SIGSTOP)) == "stopped"
    assert states(pid) == {"T"}


def test_one_that_has_ended_says_so(started: Started) -> None:
    process = started(SPINS)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert freeze(process.pid, lambda: None) == "ended"
    process.wait()
    assert states(process.pid) == set()
    assert freeze(process.pid, lambda: None) == "ended"


def test_one_that_goes_on_is_told_within_the_limit(started: Started) -> None:
    pid = started(SPINS).pid
    began = time.monotonic()
    assert freeze(pid, lambda: None, within_s=0.2) == "running"
    assert time.monotonic() - began < 600
