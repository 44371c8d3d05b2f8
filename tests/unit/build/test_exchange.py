from __future__ import annotations

import json
import os
import types
from typing import Any

import pytest

from kernellab.build import exchange
from kernellab.build.base import Candidate, Described, NotBuilt
from kernellab.build.exchange import Exchange
from kernellab.core.records import Param
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Task

STEP = {"kernel": "k", "args": [{"kind": "buffer", "index": 1}]}
RECORDER = "kernellab.build.recorder:main"
LIMITS = Limits(wall_s=10)


def replied(data: bytes) -> dict[str, Any] | None:
    with Exchange(b"{}", 1) as made:
        os.write(made.fds[1], data)
        return made.reply()


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"5", b"null", b"\xff\xfe", b"[" * 200_000, b'{"a": NaN}', b'{"a": Infinity}', b'{"a": "\\ud800"}',
     b"9" * 100_000],
)  # fmt: skip
def test_what_a_record_cannot_hold_is_no_reply(data: bytes) -> None:
    assert replied(data) is None


def test_a_reply_that_no_record_can_hold_is_told_from_none() -> None:
    for data, unfit in ((b'{"a": NaN}', True), (b'{"a": "\\ud800"}', True), (b"", False), (b"{", False)):
        with Exchange(b"{}", 1) as made:
            os.write(made.fds[1], data)
            assert made.reply() is None
            assert made.unfit is unfit


def test_plain_data_is_a_reply_and_bytes_are_an_output() -> None:
    assert replied(b'{"a": [1, 2.5, "x", null, true]}') == {"a": [1, 2.5, "x", None, True]}
    with Exchange(b"request", 2) as made:
        assert os.pread(made.fds[0], 100, 0) == b"request"
        os.write(made.fds[2], b"code")
        assert made.output() == b"code"


def test_descriptors_are_closed_afterwards() -> None:
    with Exchange(b"", 2) as made:
        fds = made.fds
    for fd in fds:
        with pytest.raises(OSError):
            os.fstat(fd)


def test_a_job_that_says_nothing_is_a_reason(sandbox: Sandbox) -> None:
    entry = "kernellab.build.compile_job:nothing"
    answer = exchange.ask(sandbox, entry, {}, LIMITS, "doing nothing")
    assert answer == NotBuilt("build-failed", "doing nothing ended without a result (exit code 0)", "")


@pytest.mark.parametrize(
    ("said", "status"),
    [("invalid", "invalid"), ("build-failed", "build-failed"), ("anything", "build-failed"), (None, "build-failed")],
)
def test_a_recorder_that_did_not_record_gives_its_reason(said: str | None, status: str, sandbox: Sandbox) -> None:
    forged = json.dumps({"status": said, "reason": "r" * 5000, "log": "l"})
    text = f"import os\nos.pwrite(4, {forged.encode()!r}, 0)\nos._exit(0)\n"
    request = {"text": text, "name": "x", "params": {}, "buffers": []}
    answer = exchange.ask_recorder(sandbox, RECORDER, request, LIMITS)
    assert answer == NotBuilt(status, "r" * 1000, "l")  # type: ignore[arg-type]


def test_the_request_shows_one_shape_and_nothing_that_tells_jobs_apart(double_task: Task) -> None:
    request = exchange.recording_request(double_task, Candidate("text", "name"), {"A": 1}, {"N": 4})
    assert request == {
        "text": "text", "name": "candidate", "params": {"A": 1}, "buffers": [{"shape": [4], "dtype": "float32"}] * 2,
    }  # fmt: skip


def test_a_plan_that_fits_the_task_is_read(double_task: Task) -> None:
    plan = exchange.read_plan({"plan": {"steps": [STEP]}}, double_task)
    assert not isinstance(plan, NotBuilt)
    assert [step.kernel for step in plan.steps] == ["k"]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (None, "not a plan"), ([], "not a plan"), ([{"steps": [STEP]}], "not a plan"),
        ({"steps": []}, "launched nothing"), ({"steps": [{**STEP, "args": [{"kind": "buffer", "index": 2}]}]}, "buffer 2"),
        ({"steps": [{**STEP, "more": 1}]}, "not a plan"), ({"steps": [STEP], "zeroed": [0]}, "never asked for"),
    ],
)  # fmt: skip
def test_a_plan_that_does_not_fit_the_task_is_a_reason(plan: Any, reason: str, double_task: Task) -> None:
    answer = exchange.read_plan({} if plan is None else {"plan": plan}, double_task)
    assert isinstance(answer, NotBuilt)
    assert reason in answer.reason


def test_a_description_with_too_much_in_it_is_refused(sandbox: Sandbox) -> None:
    for space in ("{f'A{i}': [1] for i in range(65)}", "{'A': list(range(1025))}"):
        answer = exchange.describe(sandbox, RECORDER, Candidate(f"SPACE = {space}", "x"), LIMITS)
        assert isinstance(answer, NotBuilt)
        assert "SPACE has more than" in answer.reason
    most = exchange.describe(sandbox, RECORDER, Candidate("SPACE = {'A': list(range(1024))}", "x"), LIMITS)
    assert isinstance(most, Described)


@pytest.mark.parametrize(
    ("params", "options"),
    [
        ({}, []), ({"B": 1, "A": -2}, ["-DA=-2", "-DB=1"]), ({"A": 0.5}, ["-DA=0.5"]), ({"A": True}, ["-DA=1"]),
        ({"A": "poly"}, ["-DA=poly", "-DA_poly=1"]), ({"A": "a-b c"}, ["-DA_a_b_c=1"]),
    ],
)  # fmt: skip
def test_parameters_become_macros(params: dict[str, Param], options: list[str]) -> None:
    assert exchange.macros(params) == options


def test_static_memory_is_allowed_up_to_64_kib() -> None:
    assert exchange.static_fault(0) == exchange.static_fault(65536) == ""
    assert exchange.static_fault(65537) == (
        "static-memory: 65537 bytes of writable static memory could keep answers between calls (65536 allowed); use scratch()"
    )


def test_reserved_names_and_filled_flags() -> None:
    assert exchange.reserved({"A": 1}) == ""
    for name in ("KLAB_X", "klab", "program_id", "_OPENMP", "__X"):
        assert exchange.reserved({name: 1}) == f"parameter name '{name}' is reserved"
    assert exchange.fill("-D{A}={B}{C}", {"A": "X", "B": 2}) == "-DX=2{C}"


@pytest.mark.parametrize(
    ("log", "line"),
    [("note\nx: error: bad\nx: error: worse", "x: error: bad"), ("\n\nonly this", "only this"), ("", "the compiler said nothing"),
     ("undefined reference to `f'", "undefined reference to `f'"), ("error " + "x" * 900, ("error " + "x" * 900)[:300])],
)  # fmt: skip
def test_the_first_error_is_what_is_said(log: str, line: str) -> None:
    assert exchange.first_error(log) == line


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"timed_out": True}, "did not end within 10 s and was killed"),
        ({"signal": 9}, "was killed by signal 9 (time, memory or output limit)"),
        ({"exit": 3}, "ended without a result (exit code 3)"),
    ],
)
def test_how_a_job_ended_is_said_in_words(job: dict[str, Any], words: str) -> None:
    ended: Any = types.SimpleNamespace(
        timed_out=job.get("timed_out", False), limits=LIMITS, signal=lambda: job.get("signal"), exit_code=lambda: job.get("exit")
    )  # fmt: skip
    assert exchange.ending(ended) == words
