"""What the kernel says of a process, tried on real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from kernellab.sandbox.accounts import OWN_THREAD, cpu_s, queued_s, states, switches


@pytest.fixture
def spinning():
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield process
    process.kill()
    process.wait()


def test_processor_time_grows_only_while_it_runs(spinning: subprocess.Popen[bytes]) -> None:
    while cpu_s(spinning.pid) < 0.05:
        time.sleep(0.01)
    spinning.send_signal(signal.SIGSTOP)
    while states(spinning.pid) != {"T"}:
        time.sleep(0.001)
    stood = cpu_s(spinning.pid)
    time.sleep(0.05)
    assert cpu_s(spinning.pid) == stood


def test_two_on_one_processor_stand_in_line_and_are_thrown_off(spinning: subprocess.Popen[bytes]) -> None:
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(spinning.pid, {cpu})
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            os.sched_setaffinity(other.pid, {cpu})
            folder = f"/proc/{spinning.pid}"
            waited, thrown = queued_s(folder), switches(folder)
            while queued_s(folder) < waited + 0.02 or switches(folder) < thrown + 2:
                time.sleep(0.01)
        finally:
            other.kill()


def test_who_is_gone_has_no_state_and_no_time() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert states(process.pid) == set()
    assert cpu_s(process.pid) == 0.0
    assert queued_s(f"/proc/{process.pid}") == 0.0


def test_this_thread_has_an_account_too() -> None:
    assert queued_s(OWN_THREAD) >= 0.0
    assert switches(OWN_THREAD) >= 0
