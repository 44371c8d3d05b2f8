"""What a GPU can do at best: copying, reading and multiply-adds by kernels of our own, in the bench's own protocol.

The copy is the fastest of several forms; a candidate that is faster than the floor this gives is not fast but wrong.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kernellab.build.base import Builder, Built, Candidate, NotBuilt
from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Param
from kernellab.measurement.device_ring import DeviceRing
from kernellab.measurement.roofline import Ceilings, ceiling_task, total, zeros
from kernellab.run.cuda import CudaDevice
from kernellab.tasks.crew import Crew
from kernellab.tasks.spec import Array, Task

_SAMPLES = 15
_ROUNDS = 2048
_THREADS = 256
COPIES: tuple[dict[str, Param], ...] = (
    {"UNROLL": 1, "CACHE": "normal"}, {"UNROLL": 2, "CACHE": "normal"}, {"UNROLL": 4, "CACHE": "normal"},
    {"UNROLL": 1, "CACHE": "streaming"}, {"UNROLL": 4, "CACHE": "streaming"},
)  # fmt: skip
OWN_KERNELS = '''
SOURCE = r"""
typedef unsigned long long u64;
#ifdef CACHE_streaming
#define LOAD(p) __ldcs(p)
#define STORE(p, v) __stcs(p, v)
#else
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#endif
extern "C" __global__ void __launch_bounds__(256) stream_copy(const float4 *x, float4 *y, u64 n) {
    u64 i = blockIdx.x * (u64)(256 * UNROLL) + threadIdx.x;
    float4 v[UNROLL];
    #pragma unroll
    for (int k = 0; k < UNROLL; k++) if (i + 256 * k < n) v[k] = LOAD(x + i + 256 * k);
    #pragma unroll
    for (int k = 0; k < UNROLL; k++) if (i + 256 * k < n) STORE(y + i + 256 * k, v[k]);
}
extern "C" __global__ void stream_read(const float4 *x, float *y, u64 n) {
    float s = 0;
    for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {
        float4 v = x[i];
        s += v.x + v.y + v.z + v.w;
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) atomicAdd(y, s);
}
extern "C" __global__ void peak(const float *x, float *y, int rounds) {
    float a[16], m = x[0], b = x[1];
    #pragma unroll
    for (int k = 0; k < 16; k++) a[k] = x[2 + k];
    for (int i = 0; i < rounds; i++) {
        #pragma unroll
        for (int k = 0; k < 16; k++) a[k] = a[k] * m + b;
    }
    float s = 0;
    #pragma unroll
    for (int k = 0; k < 16; k++) s += a[k];
    if (s == 12345.678f) y[0] = s;
}
"""
def launch(x, y, KIND="copy", UNROLL=1, CACHE="normal", BLOCKS=1056, ROUNDS=2048):
    n = x.size // 4
    if KIND == "copy":
        kernel("stream_copy")[-(-n // (256 * UNROLL)), 256](x, y, n)
    elif KIND == "read":
        kernel("stream_read")[min(BLOCKS, -(-n // 256)), 256](x, y, n)
    else:
        kernel("peak")[BLOCKS, 256](x, y, ROUNDS)
'''


def measure_gpu_ceilings(builder: Builder, device: CudaDevice, nbytes: int, crew: Crew) -> Ceilings:
    """Ceilings at about the size of a task: `nbytes` moved by one call."""
    n = gpu_ceiling_elements(nbytes)
    blocks = 8 * device.properties.processors

    def fastest(name: str, task: Task, size: int, choices: Sequence[dict[str, Param]]) -> float:
        common: dict[str, Param] = {"KIND": name, "BLOCKS": blocks, "ROUNDS": _ROUNDS, "UNROLL": 1, "CACHE": "normal"}
        return _fastest(builder, device, task, size, [{**common, **c} for c in choices], crew)

    copy = fastest("copy", ceiling_task("copy", n, n, _same), n, COPIES)
    read = fastest("read", ceiling_task("read", n, 1, total), n, [{}])
    peak = fastest("peak", ceiling_task("peak", 64, 64, zeros), 64, [{}])
    return Ceilings(copy=8.0 * n / copy, read=4.0 * n / read, flops=2.0 * 16 * _ROUNDS * _THREADS * blocks / peak)


def gpu_ceiling_elements(nbytes: int) -> int:
    """How many floats a copy moves that moves about as many bytes; beyond a gigabyte a copy becomes no faster."""
    return max(1 << 16, min(nbytes, 1 << 30) // 8) // 4096 * 4096


def _fastest(
    builder: Builder, device: CudaDevice, task: Task, n: int, choices: Sequence[dict[str, Param]], crew: Crew
) -> float:
    """Seconds of the fastest of a few cold calls of each choice."""
    dims = {"N": n}
    ring = DeviceRing(device, task, dims, 1, os.urandom(32), 0, crew)
    try:
        times = []
        for params in choices:
            built = builder.build(task, Candidate(OWN_KERNELS, "stream"), params, [dims])
            if isinstance(built, NotBuilt):
                raise EnvironmentFault(
                    f"the laboratory's own kernels do not build: {built.reason}", "run 'klab doctor'"
                )
            times += _samples(device, built, ring)
        return min(times)
    finally:
        ring.close()


def _samples(device: CudaDevice, built: Built, ring: DeviceRing) -> list[float]:
    runner = device.start(built, ring.inputs, ring.sides[0], ring.calls)
    try:
        runner.run([0], 10.0)
        return [runner.run([k % len(ring.calls)], 10.0, counted=True).seconds for k in range(_SAMPLES)]
    finally:
        runner.close()


def _same(x: Array) -> Array:
    return x
