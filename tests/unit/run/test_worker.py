"""How the end of a process is put into words, and what it did after its reply. The rest of the clock is tested on samples
(test_samples.py) and baselines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from kernellab.run import worker
from kernellab.run.base import Sample, WorkerFault
from kernellab.run.worker import ClockedProcess, Lap, Queues, describe

_REPLIES = """
import os, sys, time
commands, replies, before, after = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
def work(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until: pass
while token := os.read(commands, 4096):
    work(before)
    os.write(replies, token[:8])
    work(after)
"""


class LateToWatch:
    """A process that the laboratory stops only after a while, or that goes on for a while before the laboratory does, as on a
    machine where others have the processor."""

    def __init__(self, process: subprocess.Popen[bytes], after_s: float, ahead_s: float = 0.0) -> None:
        self.pid, self.status, self._process, self._after_s = process.pid, None, process, after_s
        self._ahead_s = ahead_s

    def stop(self) -> bool:
        time.sleep(self._after_s)
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)
        return True

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        time.sleep(self._ahead_s)

    def kill(self) -> None:
        self._process.kill()

    def poll(self) -> bool:
        return self._process.poll() is not None

    def log(self) -> str:
        return ""


@pytest.fixture
def clocked(request: pytest.FixtureRequest) -> Iterator[ClockedProcess]:
    """One that computes for so many seconds before its reply and after it, is stopped so many seconds late, and runs for so
    many before it is told to."""
    before, after, *late = request.param
    (commands, ours), (replies, theirs) = os.pipe(), os.pipe()
    call = [sys.executable, "-c", _REPLIES, str(commands), str(theirs), str(before), str(after)]
    with subprocess.Popen(call, pass_fds=(commands, theirs)) as process:
        yield ClockedProcess(LateToWatch(process, *late), ours, replies, threads=1, trusted=False)
        process.kill()
    for end in (commands, ours, replies, theirs):
        os.close(end)


@pytest.mark.parametrize("clocked", [(0.0031, 0.0001, 0.008)], indirect=True)
def test_a_clock_as_old_as_the_last_tick_does_not_accuse_who_waits(clocked: ClockedProcess) -> None:
    for _ in range(60):
        clocked.command([0], 60)


@pytest.mark.parametrize("clocked", [(0.001, 0.5, 0.1)], indirect=True)
def test_who_spins_while_the_laboratory_gets_no_processor_is_not_accused(
    clocked: ClockedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several threads may wait for work by spinning; the kernel's books say that this side waited all the while."""
    clocked._threads = 2
    waited = chain(repeat(0.0, 2), repeat(1000.0))
    monkeypatch.setattr(worker, "queued_s", lambda _: next(waited))
    assert clocked.command([0], 60).seconds > 0.1, "and all of it belongs to the sample"


@pytest.mark.parametrize("clocked", [(0.0, 0.5, 0.3)], indirect=True)
def test_who_computes_after_the_reply_is_told(clocked: ClockedProcess) -> None:
    def often() -> None:
        for _ in range(20):
            clocked.command([0], 60)

    with pytest.raises(WorkerFault, match="went on computing") as caught:
        often()
    assert caught.value.cause == "hidden-work"


@pytest.mark.parametrize(
    ("clocked", "cause"), [((0.0, 5.0, 0.3), "hidden-work"), ((0.0, 0.0, 2.0), "stood-still")], indirect=["clocked"]
)
def test_who_does_not_stop_is_told_by_what_it_did_meanwhile(
    clocked: ClockedProcess, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = clocked.process.stop
    monkeypatch.setattr(clocked.process, "stop", lambda: not stop())
    with pytest.raises(WorkerFault, match="could not be stopped within") as caught:
        clocked.command([0], 60)
    assert caught.value.cause == cause


@pytest.mark.parametrize("clocked", [(0.0, 0.0, 0.0, 0.05)], indirect=True)
def test_the_clock_runs_from_when_the_process_may(clocked: ClockedProcess) -> None:
    assert clocked.command([0], 60).seconds >= 0.05


@pytest.mark.parametrize(
    ("status", "log", "cause", "words"),
    [
        (signal.SIGSEGV, "", "crash", "SIGSEGV now: an access outside its buffers"),
        (signal.SIGBUS, "", "crash", "SIGBUS now"),
        (signal.SIGILL, "", "crash", "SIGILL now"),
        (signal.SIGXFSZ, "", "output-flood", "printed more"),
        (signal.SIGXCPU, "", "timeout", "processor time"),
        (3 << 8, "first\nlast words\n", "crash", "exit code 3) now: last words"),
        (1 << 8, "MemoryError", "memory", "memory limit"),
        (0, "", "crash", "exit code 0) now: no message"),
        (40, "", "crash", "signal 40 now"),
    ],
)
def test_every_ending_has_a_cause_and_words(status: int, log: str, cause: str, words: str) -> None:
    found, reason = describe(int(status), "now", log)
    assert found == cause
    assert words in reason


@pytest.mark.parametrize(
    ("lap", "used", "thrown", "sample"),
    [
        (Lap(0.010, Queues(0.003, 0.002), 2e-5), 0.004, 0, Sample(pytest.approx(0.005), False)),
        (Lap(0.010, Queues(0.003, 0.002), 2e-5), 0.006, 0, Sample(0.006, False)),
        (Lap(0.010, Queues(0.003, 0.0), 2e-5), 0.006, 1, Sample(pytest.approx(0.007), True)),
        (Lap(0.010, Queues(0.0001, 0.002), 2e-5), 0.006, 1, Sample(pytest.approx(0.0079), False)),
        (Lap(0.010, Queues(0.001, 0.002), 0.001), 0.006, 0, Sample(0.010, True)),
        (Lap(0.0001, Queues(0.00015, 0.0), 2e-5), 0.0, 0, Sample(0.0001, True)),
    ],
    ids=["waiting is taken off", "not what it used", "thrown off", "waited elsewhere", "read too late", "nothing left"],
)
def test_what_a_command_took_is_what_is_left_of_it_without_the_waiting(
    lap: Lap, used: float, thrown: int, sample: Sample
) -> None:
    assert lap.net(used, thrown) == sample


@pytest.mark.parametrize("clocked", [(0.002, 0.0, 0.02)], indirect=True)
def test_waiting_after_the_reply_is_not_taken_off(clocked: ClockedProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a guest machine a process can have used nothing by the kernel's books; nobody may gain by what came later."""
    stopped = False
    stop = clocked.process.stop

    def late_stop() -> bool:
        nonlocal stopped
        stopped = True
        return stop()

    monkeypatch.setattr(clocked.process, "stop", late_stop)
    monkeypatch.setattr(worker.Line, "waited_s", lambda _: 1000.0 * stopped)
    monkeypatch.setattr(worker, "cpu_s", lambda _: 0.0)
    sample = clocked.sample([0], 60)
    assert sample.preempted or sample.seconds >= 0.002
    assert sample.seconds < 1
