from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kernellab.build.base import Built
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.base import Call, WorkerFault
from kernellab.run.worker import Worker, _describe
from kernellab.sandbox.host import Sandbox

pytestmark = pytest.mark.backend_c
SPIN = "void k(const float *x, float *y, long n) { volatile long i = 0; while (i < %d) i++; y[0] = i; }"
COUNT = 10_000_000


@pytest.fixture
def started(sandbox: Sandbox, build: Callable[..., Built]):  # type: ignore[no-untyped-def]
    @contextmanager
    def start(source: str, cpus: tuple[int, ...] = (0,)) -> Iterator[Worker]:
        inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
        call = Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),))
        inputs.open()
        outputs.open()
        worker = cpu.start(sandbox, build(source), inputs, outputs, [call], 1, cpus)
        try:
            yield worker
        finally:
            worker.close()
            inputs.close()
            outputs.close()

    return start


def pid_of(worker: Worker) -> int:
    return worker._process.pid


def state_of(worker: Worker) -> str:
    with open(f"/proc/{pid_of(worker)}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def cpu_seconds(worker: Worker) -> float:
    return time.clock_gettime((~pid_of(worker) << 3) | 2)


def test_a_sample_is_as_long_as_the_work(started: Any) -> None:
    with started(SPIN % COUNT) as worker:
        worker.run([0], 10.0)
        before = cpu_seconds(worker)
        sample = worker.run([0, 0, 0], 10.0)
        used = cpu_seconds(worker) - before
        assert used > 0.002
        assert sample.seconds > 0.8 * used


def test_the_worker_is_stopped_between_calls_and_uses_no_processor_time(started: Any) -> None:
    with started(SPIN % 1000) as worker:
        for _ in range(3):
            worker.run([0], 10.0)
            assert state_of(worker) == "T"
            before = cpu_seconds(worker)
            deadline = time.perf_counter() + 0.02
            while time.perf_counter() < deadline:
                sum(range(1000))
            assert cpu_seconds(worker) == before


def test_it_is_stopped_before_the_first_call_too(started: Any) -> None:
    with started(SPIN % 1000) as worker:
        assert state_of(worker) == "T"


def test_preparing_brings_buffers_in_without_running_the_kernel_or_counting_as_work(started: Any) -> None:
    with started("void k(const float *x, float *y, long n) { __builtin_trap(); }") as worker:
        worker.prepare([0], 5.0)
        worker.prepare([0], 5.0)
        assert state_of(worker) == "T"
        assert worker.busy_s == 0


def test_a_call_that_does_not_return_is_killed_at_the_time_out(started: Any) -> None:
    with started('void k(const float *x, float *y, long n) { for (;;) __asm__ volatile(""); }') as worker:
        with pytest.raises(WorkerFault, match=r"did not return within 0\.2 s during a call and was killed") as caught:
            worker.run([0], 0.2)
        assert caught.value.cause == "timeout"
        assert not os.path.exists(f"/proc/{pid_of(worker)}")


def test_a_crash_is_told_by_its_signal(started: Any) -> None:
    with started("void k(const float *x, float *y, long n) { *(volatile int *)8 = 1; }") as worker:
        with pytest.raises(WorkerFault, match="SIGSEGV during a call") as caught:
            worker.run([0], 5.0)
        assert caught.value.cause == "crash"


@pytest.mark.parametrize("reply", ["1234567", "12345678", "123456789"])
def test_a_reply_that_is_not_the_token_is_early(reply: str, started: Any) -> None:
    source = f"""#include <unistd.h>
void k(const float *x, float *y, long n) {{
    for (int fd = 0; fd < 16; fd++) if (write(fd, "{reply}", {len(reply)})) {{}}
    for (;;);
}}"""
    with started(source) as worker:
        with pytest.raises(WorkerFault, match="reply") as caught:
            worker.run([0], 5.0)
        assert caught.value.cause == "early-reply"
        assert not os.path.exists(f"/proc/{pid_of(worker)}")


def test_closing_kills_the_worker_and_closes_its_pipes(started: Any) -> None:
    with started(SPIN % 10) as worker:
        pid = pid_of(worker)
    assert not os.path.exists(f"/proc/{pid}")


def test_a_worker_that_lost_the_processor_says_so(started: Any) -> None:
    """A busy neighbour is bound to the same processor, so that the scheduler must take turns."""
    number = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{number}]); print('on', flush=True)\nwhile True: pass"
    neighbour = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert neighbour.stdout is not None
        assert neighbour.stdout.readline() == b"on\n"
        with started(SPIN % (10 * COUNT), (number,)) as worker:
            assert worker.run([0], 30.0, counted=True).preempted
            assert not worker.run([0], 30.0, counted=False).preempted
    finally:
        neighbour.kill()
        neighbour.wait()
        if neighbour.stdout is not None:
            neighbour.stdout.close()


def test_a_worker_that_had_the_processor_to_itself_says_nothing(started: Any) -> None:
    with started(SPIN % 1000, tuple(os.sched_getaffinity(0))) as worker:
        assert not all(worker.run([0], 10.0, counted=True).preempted for _ in range(20))


def test_a_kernel_that_sleeps_has_only_itself_to_blame(started: Any) -> None:
    source = """#include <poll.h>
void k(const float *x, float *y, long n) { poll(0, 0, 20); y[0] = 1; }"""
    with started(source, tuple(os.sched_getaffinity(0))) as worker:
        try:
            samples = [worker.run([0], 10.0, counted=True) for _ in range(5)]
        except WorkerFault as fault:
            pytest.skip(f"sleeping is not allowed here: {fault.reason}")
        assert not all(s.preempted for s in samples)


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
    found, reason = _describe(int(status), "now", log)
    assert found == cause
    assert words in reason
