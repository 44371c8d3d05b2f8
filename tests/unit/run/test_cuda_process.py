"""Conversations with a real process outside the sandbox; what it says is not about a GPU, how it says it is."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kernellab.run.base import WorkerFault
from kernellab.run.cuda_process import MAX_MESSAGE, Process, files_of, gpu_environment
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits

from . import talkers

Start = Callable[..., Process]


@pytest.fixture(scope="module")
def host() -> Iterator[Sandbox]:
    with Sandbox("T0", [talkers.__name__]) as opened:
        yield opened


@pytest.fixture
def start(host: Sandbox) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(entry: str = "talks", *contents: bytes, boot_s: float = 20.0) -> Process:
            with files_of(*contents) as fds:
                process = Process(host, f"{talkers.__name__}:{entry}", fds, boot_s)
            stack.callback(process.end)
            return process

        yield started


def pid_of(process: Process) -> int:
    return process._job.pid


def gone(process: Process) -> bool:
    return not process.alive and not Path(f"/proc/{pid_of(process)}").exists()


def fault(process: Process, request: dict[str, object], timeout_s: float = 10.0, when: str = "") -> WorkerFault:
    with pytest.raises(WorkerFault) as caught:
        process.ask(request, timeout_s, when=when)
    return caught.value


def test_requests_are_answered_in_turn_by_one_process(start: Start) -> None:
    process = start()
    replies = [process.ask({"do": "echo", "text": word}, 10.0) for word in ("one", "two", "three")]
    assert [r["text"] for r in replies] == ["one", "two", "three"]
    assert {r["pid"] for r in replies} == {pid_of(process)}


def test_it_need_not_be_waited_for_before_it_is_asked_and_may_be_waited_for_twice(start: Start) -> None:
    process = start()
    process.ready()
    process.ready()
    assert process.ask({"do": "echo", "text": "x"}, 10.0)["text"] == "x"


def test_descriptors_reach_it_at_the_start_and_with_a_request(start: Start) -> None:
    process = start("talks", b"first", b"second")
    with files_of(b"third", b"fourth", b"fifth", b"") as fds:
        found = process.ask({"do": "read"}, 10.0, fds)
    assert found == {"given": ["first", "second"], "sent": ["third", "fourth", "fifth", ""]}
    assert process.ask({"do": "read"}, 10.0)["sent"] == []


def test_descriptors_of_a_request_are_closed_after_it_even_where_it_fails(start: Start) -> None:
    process = start()
    before = process.ask({"do": "descriptors"}, 10.0)
    for _ in range(20):
        with files_of(b"a", b"b") as fds:
            process.ask({"do": "read"}, 10.0, fds)
            with pytest.raises(WorkerFault):
                process.ask({"do": "misfit"}, 10.0, fds)
    assert process.ask({"do": "descriptors"}, 10.0) == before


def test_files_are_gone_with_the_block_and_whole_in_it() -> None:
    large = os.urandom(3 << 20)
    with files_of(large, b"") as fds:
        assert [os.fstat(fd).st_size for fd in fds] == [len(large), 0]
        assert os.pread(fds[0], len(large), 0) == large
    for fd in fds:
        with pytest.raises(OSError):
            os.fstat(fd)


def test_a_fault_is_raised_in_its_words_and_the_process_goes_on(start: Start) -> None:
    process = start()
    for _ in range(3):
        found = fault(process, {"do": "misfit"}, when="while it was loaded")
        assert (found.cause, found.reason) == ("plan", "k takes 3 parameters, the plan gives 2 while it was loaded")
    assert process.alive
    assert process.ask({"do": "echo", "text": "still here"}, 10.0)["text"] == "still here"


def test_a_fault_that_the_context_survives_leaves_the_process(start: Start) -> None:
    process = start()
    found = fault(process, {"do": "driver", "error": "CUDA_ERROR_INVALID_VALUE"})
    assert (found.cause, process.alive) == ("plan", True)
    found = fault(process, {"do": "driver", "error": "CUDA_ERROR_OUT_OF_MEMORY"})
    assert (found.cause, process.alive) == ("memory", True)


def test_a_fault_that_loses_the_context_ends_the_process(start: Start) -> None:
    process = start()
    found = fault(process, {"do": "driver", "error": "CUDA_ERROR_ILLEGAL_ADDRESS"}, when="during a call")
    assert found.cause == "crash"
    assert found.reason == "the GPU reports: illegal address (cuStreamSynchronize) during a call"
    assert gone(process)


def test_whoever_asks_a_process_that_was_lost_is_told_so(start: Start) -> None:
    process = start()
    fault(process, {"do": "driver", "error": "CUDA_ERROR_LAUNCH_FAILED"})
    assert fault(process, {"do": "echo", "text": "x"}).cause == "lost-worker"


def test_what_does_not_return_is_killed_at_the_time_out(start: Start) -> None:
    process = start()
    process.ready()
    started = time.monotonic()
    found = fault(process, {"do": "sleep", "seconds": 600}, timeout_s=0.2, when="during a call")
    assert time.monotonic() - started < 600
    assert (found.cause, found.reason) == ("timeout", "did not return within 0.2 s during a call and was killed")
    assert gone(process)


def test_an_exception_nobody_named_ends_the_process_with_its_message(start: Start) -> None:
    process = start()
    found = fault(process, {"do": "unknown"}, when="during a call")
    assert found.cause == "crash"
    assert found.reason == "the GPU process ended during a call: RuntimeError: nobody thought of this"
    assert gone(process)


def test_a_process_that_leaves_is_a_crash_with_its_last_words(start: Start) -> None:
    process = start()
    found = fault(process, {"do": "leave"})
    assert found.cause == "crash"
    assert "these are its last words" in found.reason
    assert gone(process)


def test_a_process_killed_from_outside_is_a_crash_at_the_next_request(start: Start) -> None:
    process = start()
    process.ask({"do": "echo", "text": "x"}, 10.0)
    os.kill(pid_of(process), 9)
    os.waitid(os.P_PID, pid_of(process), os.WEXITED | os.WNOWAIT)
    assert fault(process, {"do": "echo", "text": "y"}).cause == "crash"
    assert gone(process)


@pytest.mark.parametrize("raw", ["not JSON", "[1, 2]", "7", '{"half": '])
def test_a_reply_that_is_none_ends_the_conversation(raw: str, start: Start) -> None:
    process = start()
    assert fault(process, {"do": "send", "raw": raw}).cause == "crash"
    assert gone(process)


def test_a_request_too_long_to_be_read_is_a_fault_and_not_a_hang(start: Start) -> None:
    process = start()
    found = fault(process, {"do": "echo", "text": "x" * (MAX_MESSAGE + 100)})
    assert found.cause in ("plan", "crash")


def test_one_that_cannot_start_says_why_and_is_gone(start: Start) -> None:
    process = start("declines")
    found = fault(process, {"do": "echo", "text": "x"})
    assert (found.cause, found.reason) == ("crash", "does not start: no device (cuInit)")
    assert gone(process)


def test_one_that_breaks_while_it_starts_leaves_its_message(start: Start) -> None:
    process = start("breaks")
    with pytest.raises(WorkerFault, match=r"ended while it started: OSError: libcuda\.so\.1 is not here"):
        process.ready()
    assert gone(process)


def test_one_that_never_comes_is_killed(start: Start) -> None:
    process = start("never_comes", boot_s=0.2)
    with pytest.raises(WorkerFault, match=r"did not return within 0\.2 s while it started") as caught:
        process.ready()
    assert caught.value.cause == "timeout"
    assert gone(process)


def test_ending_kills_even_one_that_is_busy_and_may_be_done_twice(start: Start) -> None:
    process = start()
    process.ready()
    process._control.send(json.dumps({"do": "sleep", "seconds": 60}).encode())
    process.end()
    process.end()
    assert gone(process)


def test_several_processes_do_not_hear_each_other(start: Start) -> None:
    several = [start() for _ in range(3)]
    pids = [p.ask({"do": "echo", "text": str(i)}, 10.0)["pid"] for i, p in enumerate(several)]
    several[1].end()
    assert len(set(pids)) == 3
    assert several[0].ask({"do": "echo", "text": "a"}, 10.0)["pid"] == pids[0]
    assert several[2].ask({"do": "echo", "text": "c"}, 10.0)["pid"] == pids[2]


def test_a_process_ends_by_itself_when_the_laboratory_is_gone(host: Sandbox) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with host.spawn(f"{talkers.__name__}:talks", "run", Limits(wall_s=20), [theirs.fileno()]) as job:
        theirs.close()
        assert "ready" in json.loads(ours.recv(4096))
        ours.close()
        job.wait()
        assert job.exit_code() == 0


def test_a_gpu_process_gets_what_leads_to_the_driver_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/cuda/lib64")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("KLAB_TEST_SECRET", "do not tell")
    found = gpu_environment()
    assert (found["LD_LIBRARY_PATH"], found["CUDA_VISIBLE_DEVICES"]) == ("/opt/cuda/lib64", "3")
    assert (found["CUDA_MODULE_LOADING"], found["CUDA_CACHE_DISABLE"]) == ("EAGER", "1")
    assert "KLAB_TEST_SECRET" not in found
