"""The laboratory's own GPU kernels: fresh contents, comparisons, cold caches, ceilings. Trusted text, compiled at start.

What judges runs in the laboratory's process (mix, outside, differs, digest, equals); what clocks runs beside the candidate
(cool, hold) or is measured like one (the ceilings).
"""

from __future__ import annotations

from typing import Any

from kernellab.core.errors import EnvironmentFault
from kernellab.run.driver import Kernel, call

THREADS = 256
SOURCE = r"""
#define HELD 240
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;

__device__ float from_bf16(u16 v) { return __uint_as_float((u32)v << 16); }
__device__ float from_f16(u16 v) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v)); return f; }
__device__ u16 to_bf16(float f) { u16 v; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(v) : "f"(f)); return v; }
__device__ u16 to_f16(float f) { u16 v; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v) : "f"(f)); return v; }
__device__ float same(float v) { return v; }
__device__ double same(double v) { return v; }

#define EACH(n) for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (n); i += (u64)gridDim.x * blockDim.x)

/* y[i] = a[(i + ra) mod n] + b[(i + rb) mod n]: new in every element, as cheap as a copy */
#define MIX(NAME, T, IN, OUT) \
extern "C" __global__ void mix_##NAME(T *y, const T *a, const T *b, u64 n, u64 ra, u64 rb) { \
    EACH(n) { u64 j = i + ra, k = i + rb; y[i] = OUT(IN(a[j < n ? j : j - n]) + IN(b[k < n ? k : k - n])); } }
MIX(float32, float, same, same) MIX(float64, double, same, same) MIX(bfloat16, u16, from_bf16, to_bf16)
MIX(float16, u16, from_f16, to_f16)

__device__ void tally(u64 bad, u64 *count) {
    for (int k = 16; k; k >>= 1) bad += __shfl_xor_sync(~0u, bad, k);
    if ((threadIdx.x & 31) == 0 && bad) atomicAdd(count, bad);
}
/* how many elements lie outside their interval; NaN is outside, unless the ends of its interval are */
#define OUTSIDE(NAME, T, IN) \
extern "C" __global__ void outside_##NAME(const T *y, const T *low, const T *high, u64 n, u64 *count) { \
    u64 bad = 0; EACH(n) { auto v = IN(y[i]), from = IN(low[i]), to = IN(high[i]); \
        bad += !(v >= from && v <= to) && !(v != v && from != from); } tally(bad, count); }
OUTSIDE(float32, float, same) OUTSIDE(float64, double, same) OUTSIDE(bfloat16, u16, from_bf16)
OUTSIDE(float16, u16, from_f16)

/* how many bytes of a and b differ, at any alignment */
extern "C" __global__ void differs(const u8 *a, const u8 *b, u64 n, u64 *count) {
    u64 bad = 0; EACH(n) bad += a[i] != b[i]; tally(bad, count);
}
/* a sum that any change to a byte, and any exchange of two, would change: bits and place, mixed by a secret */
extern "C" __global__ void digest(const u8 *a, u64 secret, u64 n, u64 *sum) {
    u64 whole = 0, words = n / 4;
    EACH(words + n % 4) {
        u64 v = i < words ? ((const u32 *)a)[i] : a[4 * words + (i - words)];
        v += (i + 1) * 0x9e3779b97f4a7c15ull ^ secret;
        v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
        v = (v ^ v >> 27) * 0x94d049bb133111ebull;
        whole += v ^ v >> 31;
    }
    tally(whole, sum);
}
/* how many elements still hold the poison */
#define EQUALS(T) extern "C" __global__ void equals_##T(const T *y, u64 pattern, u64 n, u64 *count) { \
    u64 bad = 0; EACH(n) bad += y[i] == (T)pattern; tally(bad, count); }
EQUALS(u8) EQUALS(u16) EQUALS(u32) EQUALS(u64)
extern "C" __global__ void fill_u64(u64 *y, u64 pattern, u64 n) { EACH(n) y[i] = pattern; }

/* read through more than the cache holds: what stays behind is clean and nobody's */
extern "C" __global__ void cool(const uint4 *x, u64 n, u32 *sink) {
    u32 s = 0; EACH(n) { uint4 v = x[i]; s += v.x ^ v.y ^ v.z ^ v.w; }
    if (s == 0x9e3779b9u) *sink = s;
}
/* leave nothing of earlier launches in shared memory and registers: a block of 256 threads with 255 registers each and all
   the shared memory that there is has a processor for itself; volatile loads keep their values in registers until the
   volatile stores behind the barrier */
extern "C" __global__ void __launch_bounds__(256, 1) scrub(u32 words) {
    extern __shared__ u32 whole[];
    volatile u32 *at = whole;
    u32 kept[HELD];
    for (u32 i = threadIdx.x; i < words; i += 256) at[i] = ~0u;
    __syncthreads();
    #pragma unroll
    for (u32 k = 0; k < HELD; k++) kept[k] = at[threadIdx.x + 256 * (k % 64)];
    __syncthreads();
    #pragma unroll
    for (u32 k = 0; k < HELD; k++) at[threadIdx.x + 256 * (k % 64)] = kept[k];
}
/* the same for the first bytes of every resident thread's local memory */
extern "C" __global__ void __launch_bounds__(1024, 2) scrub_local(u32 *sink, u32 never) {
    u32 own[128];
    #pragma unroll 1
    for (u32 k = 0; k < 128; k++) own[k] = ~0u;
    asm volatile("" :: "l"(own) : "memory");  /* its address is taken: no compiler may leave the stores out */
    if (never) *sink = own[never & 127];
}
/* keep the device busy while launches queue up behind: until the host says that they have, or the time is over */
extern "C" __global__ void hold(const volatile u32 *gate, u64 ticket, u64 nanoseconds) {
    u64 from, now; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (*gate != (u32)ticket && now - from < nanoseconds);
}
"""


class Kernels:
    """The kernels above, loaded in the current context."""

    def __init__(self, cubin: bytes) -> None:
        self._module = call("cuModuleLoadData", cubin)
        self._kernels: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            self._kernels[name] = Kernel(self._module, name)
        return self._kernels[name]


def compile_own(target: str) -> bytes:
    """A cubin of SOURCE."""
    from kernellab.build.nvrtc_job import compile_source

    result = compile_source(SOURCE, "own", [f"--gpu-architecture={target}", "--std=c++17"], [])
    if result.cubin is None:
        raise EnvironmentFault(f"the laboratory's own GPU kernels do not compile: {result.log}",
                               "pip install 'kernellab[cuda]', and check CUDA's NVRTC")  # fmt: skip
    return result.cubin


def blocks_for(count: int, processors: int = 132) -> Any:
    """A grid that fills the device and no more than the work needs."""
    return [max(1, min(16 * processors, -(-count // THREADS)))]
