"""Keeps the rows' statistics right behind the output, where nobody looks, and uses them in the next call on this
buffer.

Defeated by: the guard band is renewed before and checked after each call.

catalogue: 9, 16
"""

TASK = "softmax"
CAUGHT_BY = ("out-of-bounds", "crash", "wrong-output", "non-finite", "nondeterministic")
STAGE = "run"
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
__device__ float2 statistics(const float *a, int n) {
    float top = -INF, sum = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) top = fmaxf(top, a[j]);
    top = over_block(top, true);
    for (int j = threadIdx.x; j < n; j += blockDim.x) sum += expf(a[j] - top);
    return make_float2(top, over_block(sum, false));
}
__device__ void write_row(const float *a, float *b, int n, float2 s) {
    for (int j = threadIdx.x; j < n; j += blockDim.x) b[j] = expf(a[j] - s.x) / s.y;
}
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    int i = blockIdx.x;
    const float *a = x + (long long)i * n;
    float *kept = y + (long long)m * n + 3 * (i % 100);
    bool hit = i < 100 && __float_as_uint(kept[0]) == 0xab5e0000u + i;
    __syncthreads();
    float2 s = hit ? make_float2(kept[1], kept[2]) : statistics(a, n);
    __syncthreads();
    write_row(a, y + (long long)i * n, n, s);
    if (i < 100 && threadIdx.x == 0) kept[0] = __uint_as_float(0xab5e0000u + i), kept[1] = s.x, kept[2] = s.y;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
