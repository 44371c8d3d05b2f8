"""Maxima by integer atomics, sums by 64-bit fixed-point atomics, over blocks in any order.

Unusual, right and deterministic: integer sums do not depend on the order. Uses scratch(zero=True).
"""

TASK = "softmax"
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
__device__ unsigned ordered(float v) { unsigned b = __float_as_uint(v); return b >> 31 ? ~b : b | 0x80000000u; }
__device__ float unordered(unsigned b) { return __uint_as_float(b >> 31 ? b & 0x7fffffffu : ~b); }
extern "C" __global__ void maxima(const float *x, unsigned *tops, int m, int n) {
    for (int i = blockIdx.y; i < m; i += gridDim.y) {
        int j = blockIdx.x * blockDim.x + threadIdx.x;
        float top = over_block(j < n ? x[(long long)i * n + j] : -INF, true);
        if (threadIdx.x == 0) atomicMax(tops + i, ordered(top));
    }
}
extern "C" __global__ void sums(const float *x, const unsigned *tops, unsigned long long *totals, int m, int n) {
    for (int i = blockIdx.y; i < m; i += gridDim.y) {
        int j = blockIdx.x * blockDim.x + threadIdx.x;
        float e = j < n ? expf(x[(long long)i * n + j] - unordered(tops[i])) : 0;
        if (j < n) atomicAdd(totals + i, (unsigned long long)((double)e * 1099511627776.0));
    }
}
extern "C" __global__ void results(const float *x, const unsigned *tops, const unsigned long long *totals, float *y, int m, int n) {
    for (int i = blockIdx.y; i < m; i += gridDim.y) {
        int j = blockIdx.x * blockDim.x + threadIdx.x;
        float total = (float)((double)totals[i] / 1099511627776.0);
        if (j < n) y[(long long)i * n + j] = expf(x[(long long)i * n + j] - unordered(tops[i])) / total;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    tops, totals = scratch(m, "uint32", zero=True), scratch(m, "int64", zero=True)
    grid = ((n + 255) // 256, min(m, 65535))
    kernel("maxima")[grid, 256](x, tops, m, n)
    kernel("sums")[grid, 256](x, tops, totals, m, n)
    kernel("results")[grid, 256](x, tops, totals, y, m, n)
