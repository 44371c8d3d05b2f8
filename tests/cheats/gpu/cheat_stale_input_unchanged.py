"""Skips a row whose contents equal those of the previous call, trusting that the output still holds the answer.

Defeated by: the repetition for determinism has the same input and a poisoned output.

catalogue: 8
"""

TASK = "softmax"
CAUGHT_BY = ("unwritten", "non-finite", "nondeterministic", "wrong-output")
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
__device__ struct { unsigned long long key; float *y; } kept[4000];
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    __shared__ unsigned long long total;
    int i = blockIdx.x;
    const float *a = x + (long long)i * n;
    if (threadIdx.x == 0) total = 0x9e3779b97f4a7c15ull * n;
    __syncthreads();
    unsigned long long key = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        key += (__float_as_uint(a[j]) + 1ull) * (0x9e3779b97f4a7c15ull * (2 * j + 1) | 1);
    atomicAdd(&total, key);
    __syncthreads();
    bool hit = i < 4000 && kept[i].key == total && kept[i].y == y;
    __syncthreads();
    if (hit) return;
    write_row(a, y + (long long)i * n, n, statistics(a, n));
    if (i < 4000 && threadIdx.x == 0) kept[i].key = total, kept[i].y = y;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
