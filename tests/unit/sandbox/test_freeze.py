"""Stopping real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kernellab.sandbox.accounts import states
from kernellab.sandbox.freeze import _goes_on, freeze

SPINS = "print('on', flush=True)\nwhile True: pass"
SLEEPS = "import time\nprint('on', flush=True)\ntime.sleep(600)"
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


@pytest.mark.parametrize(
    ("late", "used", "queued", "goes_on"),
    [
        (2.1, 0.5, 0.0, True),
        (2.1, 0.001, 0.0, False),
        (4.1, 0.001, 0.0, True),
        (4.1, 0.001, 4.0, False),
        (4.1, 0.5, 4.0, True),
        (31.0, 0.001, 31.0, True),
    ],
    ids=["works on", "does nothing", "does nothing for long", "stands in line", "works and stands in line", "for ever"],
)
def test_who_stands_in_line_for_a_processor_is_waited_for(
    late: float, used: float, queued: float, goes_on: bool
) -> None:
    assert _goes_on(late, 2.0, used, queued) is goes_on


def test_a_machine_that_stood_still_is_not_held_against_a_process(started: Started) -> None:
    """The signal takes effect late, and before that nobody ran for longer than a process may take to stop."""
    pid = started(SLEEPS).pid

    def stands_still() -> None:
        time.sleep(1.5)
        threading.Timer(0.05, os.kill, (pid, signal.SIGSTOP)).start()

    assert freeze(pid, stands_still, within_s=0.5) == "stopped"
