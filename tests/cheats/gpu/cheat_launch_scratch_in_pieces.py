"""Asks for 20 GB of scratch in pieces of 1 GB, each of which is allowed.

Defeated by: the limits are checked when the plan arrives.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid", "plan", "memory")
STAGE = "build"
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
extern "C" __global__ void fair(const float *x, float *y, int m, int n) {
    const float *a = x + (long long)blockIdx.x * n;
    write_row(a, y + (long long)blockIdx.x * n, n, statistics(a, n));
}
"""


def launch(x, y):
    m, n = x.shape
    for _ in range(20):
        scratch(1 << 30, "uint8")
    kernel("fair")[m, 256](x, y, m, n)
