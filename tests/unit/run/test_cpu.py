from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from kernellab.build.base import Built
from kernellab.run import cpu
from kernellab.run.arena import Arena
from kernellab.run.base import Call, WorkerFault
from kernellab.run.cpu import CpuDevice
from kernellab.run.samples import Samples
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Dims

pytestmark = pytest.mark.backend_c


class Bed:
    """Buffers for one call of each shape, and the worker that runs them."""

    def __init__(self, sandbox: Sandbox, built: Built, shapes: tuple[Dims, ...], memory: int = 2 << 30) -> None:
        self.inputs, self.outputs = Arena("in", b"i" * 16), Arena("out", b"o" * 16)
        self.calls = [
            Call(d, (self.inputs.declare((d["N"],), "float32"),), (self.outputs.declare((d["N"],), "float32"),))
            for d in shapes
        ]
        self.inputs.open()
        self.outputs.open()
        self.worker: Samples | None = None
        try:
            self.worker = cpu.start(sandbox, built, self.inputs, self.outputs, self.calls, 1, [0], memory)
        except WorkerFault:
            self.close()
            raise

    def x(self, number: int = 0) -> Any:
        return self.inputs.array(self.calls[number].inputs[0])

    def y(self, number: int = 0) -> Any:
        return self.outputs.array(self.calls[number].outputs[0])

    def run(self, *numbers: int) -> None:
        assert self.worker is not None
        self.worker.run(numbers, 5.0)

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.inputs.close()
        self.outputs.close()


@pytest.fixture
def bed(sandbox: Sandbox, build: Callable[..., Built]):  # type: ignore[no-untyped-def]
    @contextmanager
    def opened(*args: Any, shapes: tuple[Dims, ...] = ({"N": 16},), memory: int = 2 << 30, **kw: Any) -> Iterator[Bed]:
        made = Bed(sandbox, build(*args, shapes=shapes, **kw), shapes, memory)
        try:
            yield made
        finally:
            made.close()

    return opened


def test_a_call_reads_its_inputs_and_fills_its_outputs(bed: Any) -> None:
    with bed() as it:
        it.x()[...] = np.arange(16)
        it.run(0)
        assert it.y().tolist() == list(range(0, 32, 2))


def test_new_inputs_are_seen_at_the_next_call(bed: Any) -> None:
    with bed() as it:
        for value in (1, 5):
            it.x()[...] = value
            it.run(0)
            assert it.y().tolist() == [2 * value] * 16


def test_each_call_runs_the_plan_of_its_own_shape(bed: Any) -> None:
    with bed(shapes=({"N": 16}, {"N": 3})) as it:
        it.x(0)[...], it.x(1)[...], it.y(0)[...] = 1, 2, 0
        it.run(1)
        assert it.y(1).tolist() == [4] * 3
        assert it.y(0).tolist() == [0] * 16
        it.run(0, 1)
        assert it.y(0).tolist() == [2] * 16


def test_scalars_convert_as_in_any_c_call_and_steps_run_in_order(bed: Any) -> None:
    source = """
void set(float *y, short a, float b, _Bool c, unsigned char d) { y[0] = a; y[1] = b; y[2] = c; y[3] = d; }
void twice(float *y, int n) { for (int i = 0; i < n; i++) y[i] *= 2; }"""
    launch = 'def launch(x, y):\n    kernel("set")(y, -3, 1, 7, 258)\n    kernel("twice")(y, 4.9)\n'
    with bed(source, launch) as it:
        it.run(0)
        assert it.y()[:4].tolist() == [-6, 2, 2, 4]


def test_a_grid_calls_the_function_once_for_each_point(bed: Any) -> None:
    source = """
void point(float *y, long w, long d) {
    long a = program_id(0), b = program_id(1), c = program_id(2);
    y[(a * w + b) * d + c] += 1 + a * 100 + b * 10 + c;
}"""
    launch = 'def launch(x, y):\n    kernel("point")[2, 2, 4](y, 2, 4)\n'
    with bed(source, launch) as it:
        it.y()[...] = 0
        it.run(0)
        assert it.y().tolist() == [1 + 100 * a + 10 * b + c for a in range(2) for b in range(2) for c in range(4)]


def test_scratch_is_aligned_and_the_calls_own(bed: Any) -> None:
    source = """
void fill(const float *x, float *t, float *y, long n) {
    y[0] = ((unsigned long)t) % 64;
    for (long i = 0; i < n; i++) t[i] = x[i];
}
void add(const float *t, float *y, long n) { for (long i = 1; i < n; i++) y[i] = t[i]; }"""
    launch = """
def launch(x, y):
    t = scratch(x.size)
    kernel("fill")(x, t, y, x.size)
    kernel("add")(t, y, x.size)
"""
    with bed(source, launch) as it:
        it.x()[...] = 3
        it.run(0)
        assert it.y().tolist() == [0] + [3] * 15


def test_scratch_begins_at_any_line(bed: Any) -> None:
    source = "void k(float *y, const char *a, const char *b, long at) { y[at] = (long)a % 4096; y[at + 1] = (long)b % 4096; }"
    launch = """
def launch(x, y):
    for at in range(0, 32, 2):
        kernel("k")(y, scratch(1024), scratch(1024), at)
"""
    with bed(source, launch, shapes=({"N": 32},)) as it:
        begins: set[float] = set()
        for _ in range(4):
            it.run(0)
            begins.update(it.y().tolist())
        assert 0 in begins, "some end at a page"
        assert len(begins) > 8
        assert {begin % 64 for begin in begins} == {0}


def test_buffers_are_aligned_to_64_bytes(bed: Any) -> None:
    with bed(
        "void k(const float *x, float *y, long n) { y[0] = (unsigned long)x % 64 + (unsigned long)y % 64; }"
    ) as it:
        it.run(0)
        assert it.y()[0] == 0


@pytest.mark.parametrize(
    ("statement", "cause"),
    [
        ("((float *)x)[0] = 1;", "crash"),
        ("y[n] = 1;", "crash"),
        ("y[0] = x[n];", "crash"),
        ("*(volatile int *)0 = 1;", "crash"),
        ("__builtin_trap();", "crash"),
        ("exit(0);", "crash"),
        ("exit(3);", "crash"),
    ],
)
def test_a_call_that_breaks_the_process_is_a_fault_with_its_cause(statement: str, cause: str, bed: Any) -> None:
    source = f"#include <stdlib.h>\nvoid k(const float *x, float *y, long n) {{ {statement} }}"
    with bed(source, shapes=({"N": 16}, {"N": 16})) as it:  # two that are alike: one of them ends at a page
        with pytest.raises(WorkerFault) as caught:
            it.run(0, 1)
        assert caught.value.cause == cause
        assert "during a call" in caught.value.reason


def test_a_plan_whose_stub_is_not_in_the_code_fails_while_it_is_loaded(bed: Any) -> None:
    source = "void k(const float *x, float *y, long n) { y[0] = 1; }\n#define klab_stub_0 something_else"
    with pytest.raises(WorkerFault, match="klab_stub_0") as caught:
        with bed(source):
            pass
    assert caught.value.cause == "crash"
    assert "while it was loaded" in caught.value.reason


def test_a_constructor_that_ends_the_process_is_a_fault_while_it_is_loaded(bed: Any) -> None:
    source = """#include <stdlib.h>
__attribute__((constructor)) void c(void) { _Exit(7); }
void k(const float *x, float *y, long n) { y[0] = 1; }"""
    with pytest.raises(WorkerFault, match=r"exit code 7.* while it was loaded"):
        with bed(source):
            pass


def test_memory_beyond_the_limit_is_not_to_be_had(bed: Any) -> None:
    source = """#include <stdlib.h>
void k(const float *x, float *y, long n) { char *p = malloc(3L << 30); y[0] = p ? 1 : 2; if (p) p[0] = 1; }"""
    with bed(source, memory=1 << 20) as it:
        it.run(0)
        assert it.y()[0] == 2


def test_a_flood_of_output_is_a_fault_of_its_own_kind(bed: Any) -> None:
    source = """#include <stdio.h>
void k(const float *x, float *y, long n) {
    for (long i = 0; i < 1 << 16; i++) puts("a line of forty characters, more or less");
}"""
    with bed(source) as it, pytest.raises(WorkerFault) as caught:
        it.run(0)
    assert caught.value.cause == "output-flood"


def test_the_device_starts_runners_that_may_be_waited_for_later(device: CpuDevice, build: Callable[..., Built]) -> None:
    inputs, outputs = device.memory("in", b"i" * 16), device.memory("out", b"o" * 16)
    call = Call({"N": 16}, (inputs.declare((16,), "float32"),), (outputs.declare((16,), "float32"),))
    inputs.open()
    outputs.open()
    inputs.write(call.inputs[0], np.arange(16))
    workers = [device.start(build(), inputs, outputs, [call], wait=False) for _ in range(2)]
    try:
        for worker in workers:
            outputs.fill(call.outputs[0], 0)
            worker.ready().run([0], 5.0)
            assert outputs.read(call.outputs[0]).tolist() == list(range(0, 32, 2))
        assert (device.kind, device.trust, device.thrifty) == ("cpu", "native", False)
    finally:
        for worker in workers:
            worker.close()
        inputs.close()
        outputs.close()


def test_shapes_with_machine_code_of_their_own_run_side_by_side(bed: Any) -> None:
    """Two functions of other signatures: each shape has another library, and each call reaches its own."""
    source = (
        "static int loaded; void k(const float *x, float *y, long n) { loaded++; for (long i = 0; i < n; i++) y[i] = loaded; }"
        "void s(const float *x, float *y, long n, float a) { for (long i = 0; i < n; i++) y[i] = a; }"
    )
    launch = "def launch(x, y):\n    kernel('s')(x, y, x.size, 0.5) if x.size < 5 else kernel('k')(x, y, x.size)\n"
    with bed(source, launch, shapes=({"N": 16}, {"N": 3}, {"N": 17})) as it:
        it.run(0, 1, 2)
        assert [it.y(n)[0] for n in range(3)] == [1.0, 0.5, 2.0]
