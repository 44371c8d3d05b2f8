"""Pins its input in the L2 cache (evict_last policy), so that the next call on these buffers reads from the cache.

Harmless: results stay right; the laboratory writes new contents and clears the cache before a timed call, and a
time under the copy floor is too-good.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("too-good",)
STAGE = "run"
HARMLESS = True
SOURCE = r"""
#define INF __int_as_float(0x7f800000)
__device__ float over_block(float v, bool top) {
    __shared__ float part[32];
    for (int d = 16; d; d >>= 1) { float o = __shfl_xor_sync(~0u, v, d); v = top ? fmaxf(v, o) : v + o; }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < blockDim.x / 32; w++) v = top ? fmaxf(v, part[w]) : v + part[w];
    __syncthreads();
    return v;
}
__device__ float pinned(const float *p) {
    unsigned long long policy;
    float v;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(p), "l"(policy));
    return v;
}
__device__ float2 statistics(const float *a, int n) {
    float top = -INF, sum = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) top = fmaxf(top, pinned(a + j));
    top = over_block(top, true);
    for (int j = threadIdx.x; j < n; j += blockDim.x) sum += expf(a[j] - top);
    return make_float2(top, over_block(sum, false));
}
__device__ void write_row(const float *a, float *b, int n, float2 s) {
    for (int j = threadIdx.x; j < n; j += blockDim.x) b[j] = expf(a[j] - s.x) / s.y;
}
extern "C" __global__ void fair(const float *x, float *y, int m, int n) {
    const float *a = x + (long long)blockIdx.x * n;
    write_row(a, y + (long long)blockIdx.x * n, n, statistics(a, n));
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("fair")[m, 256](x, y, m, n)
