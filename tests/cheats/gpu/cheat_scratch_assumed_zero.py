"""Adds into scratch that it did not ask to be zeroed: fresh device memory mostly is.

Defeated by: scratch is poisoned before every call.

catalogue: 17
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "non-finite", "unwritten")
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
extern "C" __global__ void sums(const float *x, float *total, float *tops, int m, int n) {
    float2 s = statistics(x + (long long)blockIdx.x * n, n);
    if (threadIdx.x == 0) atomicAdd(total + blockIdx.x, s.y), tops[blockIdx.x] = s.x;
}
extern "C" __global__ void scale(const float *x, float *y, const float *total, const float *tops, int m, int n) {
    long long at = (long long)blockIdx.x * n;
    write_row(x + at, y + at, n, make_float2(tops[blockIdx.x], total[blockIdx.x]));
}
"""


def launch(x, y):
    m, n = x.shape
    total, tops = scratch(m), scratch(m)
    kernel("sums")[m, 256](x, total, tops, m, n)
    kernel("scale")[m, 256](x, y, total, tops, m, n)
