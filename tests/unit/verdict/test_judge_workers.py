"""Cases made by a crew and judged by workers: the same tables and the same verdicts, only sooner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernellab.build.base import Built
from kernellab.core.records import Passed, Rejected
from kernellab.run.cpu import CpuDevice
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Array, Task
from kernellab.verdict.cases import CaseTable, all_shapes, full_cases, screen_cases
from kernellab.verdict.judge import Judge

SEED = bytes(range(32))
K = "void k(const float *x, float *y, long n) { "
LOOP = K + "%s for (long i = 0; i < n; i++) y[i] = 2 * x[i]; %s }"


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.close()


@pytest.fixture(scope="module")
def table(double_task: Task, device: CpuDevice, crew: Crew) -> Iterator[CaseTable]:
    with CaseTable(double_task, full_cases(double_task, {"N": 4096}), SEED, device, crew) as made:
        yield made


@pytest.fixture(scope="module")
def verdicts(device: CpuDevice, build: Callable[..., Built], double_task: Task, table: CaseTable, crew: Crew) -> Any:
    """Of the judge alone and of the judge with workers."""

    def judged(source: str) -> list[Passed | Rejected]:
        built = build(source, shapes=tuple(all_shapes(double_task, {"N": 4096})))
        return [Judge(device, workers).verify(built, table, "full") for workers in (None, crew.hands)]

    return judged


@pytest.mark.parametrize("name", ["stencil3x3", "softmax_bf16", "particle_filter"])
def test_a_table_made_by_a_crew_is_the_table(name: str, device: CpuDevice, crew: Crew) -> None:
    task = TASKS[name]
    cases = screen_cases(task)
    with CaseTable(task, cases, SEED, device) as alone, CaseTable(task, cases, SEED, device, crew) as shared:
        assert shared.ready() is shared
        assert shared.calls == alone.calls
        assert len(shared.timeouts) == len(alone.timeouts) == len(cases)
        for number, call in enumerate(alone.calls):
            ours, theirs = (table.answers(number).expected for table in (alone, shared))  # type: ignore[attr-defined]
            for region in call.inputs:
                assert same(alone.inputs.read(region), shared.inputs.read(region))
            for one, other in zip(ours, theirs, strict=True):
                assert one.budget_ulp == other.budget_ulp
                assert all(same(getattr(one, f), getattr(other, f)) for f in ("value", "scale", "low", "high"))


def same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def test_waiting_twice_changes_nothing(double_task: Task, device: CpuDevice, crew: Crew) -> None:
    with CaseTable(double_task, screen_cases(double_task), SEED, device, crew) as made:
        before = [made.answers(number) for number in range(len(made.cases))]
        made.ready()
        assert all(made.answers(number) is kept for number, kept in enumerate(before))


def test_a_table_is_there_at_once_and_may_be_given_up_before_it_is_made(double_task: Task, crew: Crew) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def slow(x: Array) -> Array:
        asked.set()
        may_answer.wait()
        return 2 * x

    task = replace(double_task, reference=slow, baselines={})
    table = CaseTable(task, full_cases(task, {"N": 4096}), SEED, None, crew)  # or it would wait here for ever
    asked.wait()
    may_answer.set()
    table.close()
    assert crew.leads.submit(int, 3).result() == 3


def test_a_reference_that_fails_in_the_background_fails_when_it_is_waited_for(double_task: Task, crew: Crew) -> None:
    def broken(x: Array) -> Array:
        raise ZeroDivisionError("a fault of the task")

    task = replace(double_task, reference=broken)
    made = CaseTable(task, screen_cases(task), SEED, None, crew)
    with pytest.raises(ZeroDivisionError, match="a fault of the task"):
        made.ready()
    made.close()


@pytest.mark.backend_c
@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (LOOP % ("", ""), None),
        (K + "for (long i = 0; i < n; i++) y[i] = 2.0000005f * x[i]; }", None),
        (K + "for (long i = 0; i < n; i++) y[i] = 2.0001f * x[i]; }", "wrong-output"),
        (LOOP % ("", "if (n > 4096) y[n - 1] = 0;"), "wrong-output"),
        (LOOP % ("", "if (n > 1000) y[500] = 0.0f / 0.0f;"), "non-finite"),
        (LOOP % ("n -= n > 1024;", ""), "unwritten"),
        (LOOP % ("", "if (n == 7) y[-1] = 0;"), "out-of-bounds"),
        (LOOP % ("", "if (n == 5003) y[n] = 0;"), "out-of-bounds"),
        ("static int later; " + LOOP % ("", "if (later) y[0] += 1; later = 1;"), "nondeterministic"),
        ("static int later; " + LOOP % ("", "if (later) y[-1] = 1; later = 1;"), "out-of-bounds"),
        (LOOP % ("", "if (n == 1025) __builtin_trap();"), "crash"),
    ],
    ids=["right", "right enough", "wrong", "wrong where large", "not finite", "unwritten", "before", "behind",
         "wrong later", "before later", "crash"],
)  # fmt: skip
def test_workers_give_the_same_verdict(source: str, cause: str | None, verdicts: Any) -> None:
    alone, shared = verdicts(source)
    assert shared == alone
    assert (alone.cause if isinstance(alone, Rejected) else None) == cause


@pytest.mark.backend_c
def test_a_crash_does_not_hide_an_earlier_wrong_answer(verdicts: Any) -> None:
    """Workers let the artifact run on while they judge: what it does later must not decide what is said of it."""
    alone, shared = verdicts(LOOP % ("", "if (n == 7) y[3] = 1e9f; if (n == 5003) __builtin_trap();"))
    assert shared == alone
    assert (alone.cause, alone.case) == ("wrong-output", "N=7, normal")


@pytest.mark.backend_c
def test_kernels_that_sum_in_another_order_are_not_deterministic_to_either(verdicts: Any) -> None:
    source = """static int later;
void k(const float *x, float *y, long n) {
    float f = later ? 2.0000002f : 2;
    later = 1;
    for (long i = 0; i < n; i++) y[i] = f * x[i];
}"""
    for found in verdicts(source):
        assert isinstance(found, Passed)
        assert not found.deterministic


@pytest.mark.backend_c
def test_an_output_left_alone_because_the_input_is_the_same_is_found(verdicts: Any) -> None:
    """It has to remember its inputs for that."""
    source = """#include <string.h>
static float kept[8192]; static float *last; static long length;
void k(const float *x, float *y, long n) {
    if (y == last && n == length && !memcmp(x, kept, n * sizeof *x)) return;
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
    memcpy(kept, x, n * sizeof *x); last = y; length = n;
}"""
    for found in verdicts(source):
        assert isinstance(found, Rejected)
        assert (found.cause, found.case) == ("static-memory", "second pass")


@pytest.mark.heavy
@pytest.mark.backend_c
def test_screening_is_not_shared_out(
    device: CpuDevice, build: Callable[..., Built], double_task: Task, crew: Crew
) -> None:
    """It stops at the first wrong case: a kernel that would hang later is never let so far."""
    cases = screen_cases(double_task)
    with CaseTable(double_task, cases, SEED, device, crew) as table:
        source = K + 'if (n > 1000) for (;;) __asm__ volatile(""); y[0] = 1e9f; }'
        built = build(source, shapes=tuple(all_shapes(double_task, {"N": 4096})))
        found = Judge(device, crew.hands).verify(built, table, "screen")
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("wrong-output", cases[0].label)
    assert np.prod(list(cases[0].dims.values())) < 1000
