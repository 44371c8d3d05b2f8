"""Kernels that are right whenever somebody looks, in C and on real workers: what the bench does so that somebody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kernellab.build.base import Built
from kernellab.core.records import Passed, Rejected, Timing
from kernellab.core.settings import Effort
from kernellab.measurement.bench import Arm, Bench
from kernellab.measurement.rig import threads_cpus
from kernellab.measurement.ring import Ring
from kernellab.measurement.roofline import Floor
from kernellab.run import cpu
from kernellab.run.cpu import CpuDevice
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Task
from kernellab.verdict.cases import CaseTable, all_shapes, full_cases
from kernellab.verdict.judge import Judge

pytestmark = pytest.mark.backend_c
DIMS = {"N": 4096}
SLOTS = 8
EFFORT = Effort(least_pairs=5, trial_pairs=11, confirm_pairs=11, processes=1, narrow=0.0, trials=1, confirmations=1)
HONEST = "void k(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }"

WORKS_AHEAD = """
static struct { const float *x; float *y; long n; } seen[64];
static int count;
static void work(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }
void k(const float *x, float *y, long n) {
    int at = 0;
    while (at < count && seen[at].y != y) at++;
    if (at == count && count < 64) { seen[at].x = x; seen[at].y = y; seen[at].n = n; count++; }
    if (y[n - 1] == y[n - 1]) return;  /* no poison: an earlier call has done it */
    work(x, y, n);
    for (int next = at + 1; next < at + 4 && next < count; next++) work(seen[next].x, seen[next].y, seen[next].n);
}"""

LEAVES_ALONE = """
static const float *last_x; static float first, *last_y;
void k(const float *x, float *y, long n) {
    if (x == last_x && y == last_y && x[0] == first) return;
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
    last_x = x; last_y = y; first = x[0];
}"""


@pytest.fixture(scope="module")
def ring(double_task: Task) -> Iterator[Ring]:
    made = Ring(double_task, DIMS, SLOTS, bytes(range(32)), 1 << 20)
    yield made
    made.close()


@pytest.fixture
def arm(ring: Ring, sandbox: Sandbox, build: Callable[..., Built]) -> Iterator[Callable[..., Arm]]:
    with ExitStack() as stack:

        def start(source: str, name: str = "candidate", side: int = 0) -> Arm:
            built = build(source, shapes=(DIMS,))
            worker = cpu.start(sandbox, built, ring.inputs, ring.sides[side], ring.calls, 1, threads_cpus(1))
            stack.callback(worker.close)
            return Arm(name, worker, side)

        yield start


@pytest.fixture
def bench(ring: Ring) -> Bench:
    return Bench(ring, Floor(1e-9, 1e-9, "memory", 1), 0.002, timeout_s=5.0)


@pytest.fixture
def judged(device: CpuDevice, build: Callable[..., Built], double_task: Task) -> Callable[[str], Passed | Rejected]:
    def verdict(source: str) -> Passed | Rejected:
        with CaseTable(double_task, full_cases(double_task, DIMS), bytes(range(32)), device) as table:
            return Judge(device).verify(build(source, shapes=tuple(all_shapes(double_task, DIMS))), table, "full")

    return verdict


@pytest.mark.parametrize("measure", ["trial", "confirm"])
def test_what_one_call_knows_of_the_others_is_gone_before_it_could_work_ahead(
    measure: str, bench: Bench, arm: Callable[..., Arm]
) -> None:
    """It learns where outputs lie from the calls it gets. A sample's process has seen one call, and must not learn more."""
    cheat, other = arm(WORKS_AHEAD), arm(HONEST, "honest", 1)
    cheat.calls = SLOTS
    found = bench.confirm([(cheat, other)], EFFORT) if measure == "confirm" else bench.trial(cheat, other, EFFORT, 0.0)
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("static-memory", "timed call")


def test_an_honest_kernel_is_never_suspected_of_it(bench: Bench, arm: Callable[..., Arm]) -> None:
    one, other = arm(HONEST), arm(HONEST, "honest", 1)
    one.calls = other.calls = SLOTS
    assert isinstance(bench.confirm([(one, other)], EFFORT), Timing)


def test_an_output_left_alone_because_the_input_is_the_same_is_caught_by_the_judge(
    judged: Callable[[str], Passed | Rejected],
) -> None:
    found = judged(LEAVES_ALONE)
    assert isinstance(found, Rejected)
    assert found.cause == "static-memory"


def test_and_by_the_bench(bench: Bench, arm: Callable[..., Arm]) -> None:
    found = bench.confirm([(arm(LEAVES_ALONE), arm(HONEST, "honest", 1))], EFFORT)
    assert isinstance(found, Rejected)
    assert (found.cause, found.case) == ("static-memory", "timed call")
