from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kernellab.build.base import Built, Candidate
from kernellab.build.c import CBuilder
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.base import Call, WorkerFault
from kernellab.run.samples import Samples
from kernellab.sandbox.accounts import states
from kernellab.sandbox.host import Sandbox
from kernellab.search.gauntlet import builtin_folder
from kernellab.tasks.load import load_task

pytestmark = pytest.mark.backend_c
SPIN = "void k(const float *x, float *y, long n) { volatile long i = 0; while (i < %d) i++; y[0] = i; }"
COUNT = 10_000_000


@pytest.fixture
def started(sandbox: Sandbox, build: Callable[..., Built]):  # type: ignore[no-untyped-def]
    @contextmanager
    def start(source: str, cpus: tuple[int, ...] = (0,)) -> Iterator[Samples]:
        inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
        call = Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),))
        inputs.open()
        outputs.open()
        worker = cpu.start(sandbox, build(source), inputs, outputs, [call], 1, cpus)
        worker.outputs_for_test = outputs.array(call.outputs[0])  # type: ignore[attr-defined]
        try:
            yield worker
        finally:
            worker.close()
            inputs.close()
            outputs.close()

    return start


def newest(worker: Samples) -> int:
    """The process of the sample that was prepared or run last."""
    return worker._samples[-1].process.pid


def cpu_seconds(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)


def test_a_sample_is_as_long_as_the_work(started: Any) -> None:
    with started(SPIN % COUNT) as worker:
        worker.prepare([0], 10.0)
        before = cpu_seconds(newest(worker))
        sample = worker.run([0, 0, 0], 10.0, counted=True)
        used = cpu_seconds(newest(worker)) - before
        assert used > 0.002
        assert sample.seconds > 0.8 * used


def test_a_process_that_waits_for_its_calls_is_stopped_while_another_makes_them(started: Any) -> None:
    """Both hold the same outputs: one that went on could do the other's work, or mend it afterwards."""
    with started(SPIN % 1000) as worker:
        for _ in range(2):
            worker.begin([0], scrub=False)
        worker.run([0], 10.0)
        (waiting,) = [s for s in worker._samples if not s.used]
        assert states(waiting.process.pid) == {"T"}
        worker.run([0], 10.0)  # and it can still be used


def test_a_process_is_stopped_before_and_after_its_calls_and_uses_no_processor_time(started: Any) -> None:
    with started(SPIN % 1000) as worker:
        assert states(newest(worker)) == {"T"}
        for _ in range(3):
            worker.prepare([0], 10.0)
            assert states(newest(worker)) == {"T"}
            worker.run([0], 10.0, counted=True)
            assert states(newest(worker)) == {"T"}
            before = cpu_seconds(newest(worker))
            deadline = time.perf_counter() + 0.02
            while time.perf_counter() < deadline:
                sum(range(1000))
            assert cpu_seconds(newest(worker)) == before


def test_preparing_makes_one_call_of_its_own(started: Any) -> None:
    with started(SPIN % 1000) as worker:
        worker.prepare([0], 5.0)
    with started("void k(const float *x, float *y, long n) { __builtin_trap(); }") as worker:
        with pytest.raises(WorkerFault, match="during a call"):
            worker.prepare([0], 5.0)


REMEMBERS = """#include <stdlib.h>
static int calls; static __thread int local; static int *heap;
void k(const float *x, float *y, long n) {
    if (!heap) heap = calloc(1, 4);
    char below[4096]; volatile int *stack = (volatile int *)below;
    y[0] = calls++; y[1] = local++; y[2] = (*heap)++; y[3] = rand(); y[4] = getpid_(); y[5] = stack[7] == 41; stack[7] = 41;
}"""


def test_no_call_finds_anything_of_an_earlier_sample(started: Any) -> None:
    source = "#include <unistd.h>\n#define getpid_ getpid\n" + REMEMBERS
    found = []
    with started(source) as worker:
        for _ in range(4):
            worker.run([0], 5.0)
            found.append(worker.outputs_for_test[:6].copy())  # type: ignore[attr-defined]
    assert all((f == found[0]).all() for f in found)
    assert found[0][:3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("keeps", ["static int kept;", "static __thread int kept;", "static int kept = 7;"])
def test_a_call_that_counts_in_static_memory_is_found_out(keeps: str, started: Any) -> None:
    with started(keeps + "void k(const float *x, float *y, long n) { y[0] = kept++; }") as worker:
        worker.run([0], 5.0)
        with pytest.raises(WorkerFault, match="left its static memory changed: 1 of ") as caught:
            worker.run([0], 5.0, steady=True)
        assert caught.value.cause == "static-memory"
        worker.prepare([0], 5.0)
        with pytest.raises(WorkerFault, match="left its static memory changed"):
            worker.run([0], 5.0, counted=True)


@pytest.mark.parametrize("call", ["y[0] = kept++; kept--;", "if (!kept) kept = 5; y[0] = kept;"])
def test_a_counter_that_resets_itself_and_a_table_filled_once_are_fine(call: str, started: Any) -> None:
    with started(f"static volatile int kept; void k(const float *x, float *y, long n) {{ {call} }}") as worker:
        worker.run([0, 0], 5.0, steady=True)
        worker.prepare([0], 5.0)
        worker.run([0] * 1000, 5.0, counted=True)
        assert worker.remarks() == {}


def test_a_process_that_loads_meanwhile_is_the_one_that_is_prepared_and_run(started: Any) -> None:
    with started(SPIN % 1000) as worker:
        for _ in range(3):
            assert worker.begin([0])
            begun = worker._samples[-1]
            assert worker.prepare([0], 5.0) > 0
            assert worker.prepare([0], 5.0) > 0, "it is prepared already"
            worker.run([0], 5.0, counted=True)
            assert [s for s in worker._samples if s.used] == [begun]


def test_what_is_computed_after_the_reply_belongs_to_the_sample(sandbox: Sandbox, builder: CBuilder) -> None:
    """A kernel that answers for the laboratory's own loop, with the token, while it has work left to do."""
    text = (builtin_folder() / "c" / "cheat_reply_through_hooks.py").read_text()
    shape = {"M": 64, "N": 64}
    built = builder.build(load_task("softmax"), Candidate(text, "early"), {"EARLY": 20}, [shape])
    assert isinstance(built, Built)
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    calls = [Call(shape, (inputs.declare((64, 64), "float32"),), (outputs.declare((64, 64), "float32"),))]
    inputs.open()
    outputs.open()
    worker = cpu.start(sandbox, built, inputs, outputs, calls, 1, (0,))
    try:
        worker.prepare([0], 5.0)
        process = worker._samples[-1].process.pid
        before = cpu_seconds(process)
        sample = worker.run([0] * 40, 5.0, counted=True)
        assert sample.seconds >= cpu_seconds(process) - before
    finally:
        worker.close()
        inputs.close()
        outputs.close()


def test_two_samples_of_different_calls_may_be_prepared_at_once(sandbox: Sandbox, build: Callable[..., Built]) -> None:
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    calls = [Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),)) for _ in "ab"]
    inputs.open()
    outputs.open()
    worker = cpu.start(sandbox, build(SPIN % 1000), inputs, outputs, calls, 1, (0,))
    try:
        for call in (0, 1):
            worker.prepare([call], 5.0)
        pids = [s.process.pid for s in worker._samples]
        for call in (0, 1):
            worker.run([call], 5.0, counted=True)
        assert [s.process.pid for s in worker._samples if s.used] == pids[-2:]
    finally:
        worker.close()
        inputs.close()
        outputs.close()


def test_a_sample_cannot_reach_the_buffers_of_other_calls(sandbox: Sandbox, build: Callable[..., Built]) -> None:
    """Neither by growing its own mapping over the next one, nor by a descriptor."""
    source = """#define _GNU_SOURCE
#include <sys/mman.h>
#include <fcntl.h>
void k(const float *x, float *y, long n) {
    char *base = (char *)((unsigned long)y & ~4095ul);
    y[0] = mremap(base, 4096, 3 * 4096, MREMAP_MAYMOVE) == MAP_FAILED;
    y[1] = 0;
    for (int fd = 3; fd < 64; fd++) y[1] += mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
}"""
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    calls = [Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),)) for _ in "ab"]
    inputs.open()
    outputs.open()
    worker = cpu.start(sandbox, build(source), inputs, outputs, calls, 1, (0,))
    try:
        worker.run([1], 5.0)
        assert outputs.array(calls[1].outputs[0])[:2].tolist() == [1, 0]
    finally:
        worker.close()
        inputs.close()
        outputs.close()


def test_an_earlier_samples_output_is_wiped_out_before_the_next_warms_up(started: Any) -> None:
    source = "static float seen; void k(const float *x, float *y, long n) { if (!seen) seen = y[0]; y[1] = seen; y[0] = 41; }"
    with started(source) as worker:
        for _ in range(3):
            worker.prepare([0], 5.0)
            worker.run([0], 5.0, counted=True)
            assert worker.outputs_for_test[1] != 41  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "refused",
    ["sched_yield()", "usleep(1)", "poll(0, 0, 1)", "raise(SIGCONT)", "kill(getpid(), SIGCONT)", "setitimer(0, &(struct itimerval){{0, 0}, {1, 0}}, 0)",
     "kill(0, SIGSTOP)", "(int)syscall(SYS_futex, &word, 0, 0, &nap)"],
)  # fmt: skip
def test_sleeping_yielding_and_signals_are_refused(refused: str, started: Any) -> None:
    source = f"""#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
void k(const float *x, float *y, long n) {{
    int word = 0; struct timespec nap = {{0, 1000}};
    (void)word; (void)nap;
    y[0] = {refused};
}}"""
    with started(source) as worker:
        worker.run([0], 5.0)
        assert worker.outputs_for_test[0] != 0  # type: ignore[attr-defined]


LATE = """#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int go; static char token[8];
static void *other(void *p) { while (!go); volatile long i = 0; while (1) i++; return 0; }
"""


def test_a_thread_that_goes_on_after_the_reply_is_stopped_at_once(
    sandbox: Sandbox, build: Callable[..., Built]
) -> None:
    source = (
        LATE
        + """
void k(const float *x, float *y, long n) { pthread_t t; if (!go) { pthread_create(&t, 0, other, 0); go = 1; } }"""
    )
    inputs, outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
    call = Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),))
    inputs.open()
    outputs.open()
    worker = cpu.start(sandbox, build(source), inputs, outputs, [call], 2, sorted(os.sched_getaffinity(0)))
    try:
        with contextlib.suppress(WorkerFault):  # caught in the act, or stopped before it used much
            worker.prepare([0], 5.0)
            assert states(newest(worker)) == {"T"}
    finally:
        worker.close()
        inputs.close()
        outputs.close()


def test_a_call_that_does_not_return_is_killed_at_the_time_out(started: Any) -> None:
    with started('void k(const float *x, float *y, long n) { for (;;) __asm__ volatile(""); }') as worker:
        with pytest.raises(WorkerFault, match=r"did not return within 0\.2 s during a call and was killed") as caught:
            worker.run([0], 0.2)
        assert caught.value.cause == "timeout"
        assert states(newest(worker)) == set()


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
        assert states(newest(worker)) == set()


def test_closing_kills_every_process(started: Any) -> None:
    with started(SPIN % 10) as worker:
        worker.prepare([0], 5.0)
        pids = [newest(worker), worker._nest.job.pid]
        assert all(states(pid) for pid in pids)
    while any(states(pid) - {"Z"} for pid in pids):  # they are told to end, and nobody waits for that
        pass


def born_and_gone(worker: Samples) -> None:
    """A process has said its first word, which nobody has read, and has ended with the one that forked it."""
    worker.begin([0])
    channel = worker._samples[-1].channel
    select.select([channel], [], [])
    _, credentials, _, _ = channel.recvmsg(64, socket.CMSG_SPACE(12), socket.MSG_PEEK)
    number = struct.unpack("3i", credentials[0][2][:12])[0]
    worker._nest.job.end()
    while os.path.exists(f"/proc/{number}"):
        pass


def test_a_process_that_is_gone_before_anybody_asked_for_it_is_let_go(started: Any) -> None:
    with started(SPIN % 1) as worker:
        born_and_gone(worker)
        worker.end()
        assert worker._samples == []


def test_a_process_that_is_gone_when_it_is_asked_for_is_a_lost_worker(started: Any) -> None:
    with started(SPIN % 1) as worker:
        born_and_gone(worker)
        with pytest.raises(WorkerFault) as caught:
            worker.prepare([0], 10.0)
        assert caught.value.cause == "lost-worker"


@pytest.mark.heavy
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
            assert not worker.run([0], 30.0).preempted
    finally:
        neighbour.kill()
        neighbour.wait()
        if neighbour.stdout is not None:
            neighbour.stdout.close()


def test_a_worker_that_had_the_processor_to_itself_says_nothing(started: Any) -> None:
    with started(SPIN % 1000, tuple(os.sched_getaffinity(0))) as worker:
        assert not all(worker.run([0], 10.0, counted=True).preempted for _ in range(20))


def test_a_sample_is_stopped_in_the_middle_for_good(started: Callable[..., Any]) -> None:
    slow = "void k(const float *x, float *y, long n) { y[0] = 1; for (volatile long i = 0; i < (1L << 40); i++); y[1] = 1; }"
    with started(slow) as worker:
        worker.outputs_for_test[:] = 7
        assert worker.interrupt([0], 0.05)
        pid = newest(worker)
        assert states(pid) == {"T"}
        assert worker.outputs_for_test[:2].tolist() == [1, 7]
        worker._retire()
        while states(pid) - {"Z"}:
            pass


def test_a_sample_that_ends_itself_before_it_is_stopped_is_a_crash(started: Callable[..., Any]) -> None:
    leaves = "#include <stdlib.h>\nvoid k(const float *x, float *y, long n) { exit(3); }"
    with started(leaves) as worker, pytest.raises(WorkerFault, match="exit code 3"):
        worker.interrupt([0], 0.2)
