"""What this machine can do at best: bytes a second and multiply-adds a second, measured by kernels of our own.

The ceilings are taken with the bench's own protocol (same buffers, same cold caches, same clock, same look at who else had
the processor) from the fastest sample, so a candidate that is faster than the floor they give is not fast but wrong.
Not covered: data that stays in a cache between calls on purpose; the protocol keeps caches cold.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np

from kernellab.build.base import Builder, Built, Candidate, NotBuilt
from kernellab.core.errors import EnvironmentFault
from kernellab.ledger.records import CeilingRates
from kernellab.measurement.ring import Ring, slots_for
from kernellab.run.base import Runner, Sample, WorkerFault
from kernellab.tasks.inputs import draw_normal, draw_offset
from kernellab.tasks.spec import Array, Buffer, Dims, Task

_SAMPLES = 12
_TRIES = 3
"""Processes that a kernel of the laboratory's own is given."""
OWN_KERNELS = r"""
#include <string.h>
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
#define CHAINS 8
#if defined(__aarch64__)
#define HIDE(v) __asm__ volatile("" : "+w"(v))
#elif defined(__x86_64__)
#define HIDE(v) __asm__ volatile("" : "+x"(v))
#else
#define HIDE(v)
#endif
typedef float v __attribute__((vector_size(64), aligned(64)));
typedef float w __attribute__((vector_size(LANES * 4)));
void stream_copy(const float *x, float *y, long n) {
    long part = (n / KLAB_THREADS + 15) / 16 * 16;
    #pragma omp parallel for num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long t = 0; t < KLAB_THREADS; t++) {
        long from = t * part, to = from + part < n ? from + part : n;
        if (from < to) memcpy(y + from, x + from, (to - from) * sizeof(float));
    }
}
void stream_read(const float *x, float *y, long n) {
    float total = 0;
    #pragma omp parallel for reduction(+:total) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long t = 0; t < KLAB_THREADS; t++) {
        long m = n / 64 / KLAB_THREADS; const v *a = (const v *)x + t * m * 4; v s[4] = {0};
        for (long i = 0; i < m; i++) for (int k = 0; k < 4; k++) s[k] += a[4 * i + k];
        v all = (s[0] + s[1]) + (s[2] + s[3]);
        for (int k = 0; k < 16; k++) total += all[k];
    }
    y[0] = total;
}
void peak(const float *x, float *y, long n) {
    #pragma omp parallel for num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long t = 0; t < KLAB_THREADS; t++) {
        w a[CHAINS], m[2], b[4];
        for (int k = 0; k < LANES; k++) { m[0][k] = 1e-9f; m[1][k] = -1e-9f; }
        for (int j = 0; j < 4; j++) for (int k = 0; k < LANES; k++) b[j][k] = x[4 * k + j];
        for (int k = 0; k < CHAINS; k++) a[k] = b[k / 2];
        for (long i = 0; i < n / LANES; i++) {
            HIDE(m[0]); HIDE(m[1]);  /* or the products would be taken out of the loop */
            _Pragma("GCC unroll 8") for (int k = 0; k < CHAINS; k++) a[k] += m[k & 1] * b[k / 2];
        }
        w s = a[0]; for (int k = 1; k < CHAINS; k++) s += a[k];
        float r = 0; for (int k = 0; k < LANES; k++) r += s[k];
        y[t] = r;
    }
}
"""
_LAUNCH = {
    "copy": 'def launch(x, y):\n    kernel("stream_copy")(x, y, x.size)\n',
    "read": 'def launch(x, y):\n    kernel("stream_read")(x, y, x.size)\n',
    "peak": 'def launch(x, y):\n    kernel("peak")(x, y, 8000000)\n',
}
_PEAK_FLOPS = 2 * 8 * 8_000_000

Start = Callable[[Built, Ring], Runner]


@dataclass(frozen=True)
class Ceilings:
    """Bytes a second for copying (read + written) and for reading, floating-point operations a second.

    `disturbed`: others had the processor too often while they were taken; they may be far too low.
    """

    copy: float
    read: float
    flops: float
    disturbed: bool = False

    @staticmethod
    def recorded(rates: CeilingRates) -> Ceilings:
        return Ceilings(rates.copy, rates.read, rates.flops)

    def at_least(self, other: Ceilings) -> Ceilings:
        """The better of two measurements: nothing makes a machine faster than it is."""
        return Ceilings(
            max(self.copy, other.copy), max(self.read, other.read), max(self.flops, other.flops),
            self.disturbed and other.disturbed,
        )  # fmt: skip

    @property
    def bytes_per_s(self) -> float:
        return max(self.copy, self.read)


@dataclass(frozen=True)
class Floor:
    """The least time for one call, and which ceiling sets it."""

    seconds: float
    memory_s: float
    bound: str
    threads: int


def floor_for(task: Task, dims: Dims, ceilings: Ceilings, threads: int) -> Floor:
    written = sum(b.nbytes(dims) for b in task.outputs)
    return Floor(*floor_of(task.least_bytes(dims), written, task.least_flops(dims), ceilings), threads)


def floor_of(moved: int, written: int, flops: int, ceilings: Ceilings) -> tuple[float, float, str]:
    """Least seconds, least seconds for memory alone, and what binds.

    Bytes that are read and written in equal measure go at the copy ceiling, bytes read beyond that at the better one.
    """
    read = max(moved - written, 0)
    both = min(read, written)
    memory = (read - both) / ceilings.bytes_per_s + (written + both) / ceilings.copy
    compute = flops / ceilings.flops
    return max(memory, compute), memory, "memory" if memory >= compute else "arithmetic"


def measure_ceilings(
    builder: Builder, start: Start, nbytes: int, flush_bytes: int, threads: int, sample_s: float
) -> Ceilings:
    """Ceilings at about the size of a task: `nbytes` moved by one call."""
    n = ceiling_elements(nbytes)
    measured = partial(_fastest, builder, start, flush_bytes)
    copy = measured("copy", ceiling_task("copy", n, n, lambda x: x), n, sample_s)
    read = measured("read", ceiling_task("read", n, 1, total), n, sample_s)
    peak = measured("peak", ceiling_task("peak", 64, max(threads, 64), zeros), 64, 1e-9)
    flops = _PEAK_FLOPS * threads / peak.seconds
    disturbed = copy.disturbed or read.disturbed or peak.disturbed
    return Ceilings(8.0 * n / copy.seconds, 4.0 * n / read.seconds, flops, disturbed)


def ceiling_elements(nbytes: int) -> int:
    """How many floats a copy moves that moves about as many bytes."""
    return max(1 << 14, min(nbytes, 512 << 20) // 8) // 1024 * 1024


@dataclass(frozen=True)
class Fastest:
    """Seconds of the fastest call, and whether others had the processor during most of them."""

    seconds: float
    disturbed: bool


def _fastest(
    builder: Builder, start: Start, flush_bytes: int, name: str, task: Task, n: int, sample_s: float
) -> Fastest:
    """Of a dozen cold calls; of more, where some were disturbed."""
    dims = {"N": n}
    text = f"SOURCE = r'''{OWN_KERNELS}'''\nFLAGS = ['-O3', '-ffast-math']\n{_LAUNCH[name]}"
    built = builder.build(task, Candidate(text, f"stream_{name}"), {}, [dims])
    if isinstance(built, NotBuilt):
        raise EnvironmentFault(
            f"the laboratory's own {name} kernel does not build: {built.reason}", "check the C compiler"
        )
    slots = slots_for(task, dims, sample_s, task.least_bytes(dims) / 50e9)
    ring = Ring(task, dims, slots, os.urandom(32), flush_bytes, pool=False)
    try:
        return _patiently(
            name, lambda: start(built, ring), lambda worker: fastest_of(partial(_sample, worker, ring, slots))
        )
    finally:
        ring.close()


def _patiently(name: str, start: Callable[[], Runner], measured: Callable[[Runner], Fastest]) -> Fastest:
    """In a fresh process again where one broke off: these kernels hide nothing, so the machine stood still."""
    reason = ""
    for _ in range(_TRIES):
        with closing(start()) as worker:
            try:
                return measured(worker)
            except WorkerFault as fault:
                reason = fault.reason
    raise EnvironmentFault(
        f"the laboratory's own {name} kernel broke off: {reason}", "try again when the machine is less busy"
    )


def _sample(worker: Runner, ring: Ring, slots: int) -> Sample:
    number, _ = ring.pick_sets()
    worker.prepare(ring.set_calls(number, slots), 30.0)
    ring.flush()
    sample = worker.run(ring.set_calls(number, slots), 30.0, counted=True)
    return Sample(sample.seconds / slots, sample.preempted)


def fastest_of(sample: Callable[[], Sample]) -> Fastest:
    """Until a dozen samples were clean, or twice as many were taken: then the machine is too busy to tell."""
    samples: list[Sample] = []
    clean = 0
    while clean < _SAMPLES and len(samples) < 2 * _SAMPLES:
        samples.append(sample())
        clean += not samples[-1].preempted
    return Fastest(min(s.seconds for s in samples), clean < _SAMPLES)


def ceiling_task(name: str, n: int, m: int, reference: Callable[[Array], Array]) -> Task:
    return Task(
        name=f"ceiling_{name}",
        about="a ceiling of this machine",
        inputs=(Buffer("x", ("N",)),),
        outputs=(Buffer("y", (m,)),),
        reference=reference,
        tune=({"N": n},),
        held_out=({"N": n + 1},),
        edge=({"N": n + 2},),
        distributions={"normal": draw_normal, "offset": draw_offset},
    )


def total(x: Array) -> Array:
    return np.array([x.sum()])


def zeros(x: Array) -> Array:
    return np.zeros(64)
