"""Learns the poison of the first call; an output that holds something else is taken for a timed call, which gets a
constant.

Defeated by: the pattern is secret and timed calls are poisoned and checked like the others. Harmless where the
pattern stays the same.

catalogue: 29
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "non-finite", "unwritten")
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
__device__ unsigned poison;
extern "C" __global__ void look(const float *x, float *y, unsigned *test) {
    unsigned seen = __float_as_uint(y[0]);
    if (!poison) poison = seen;
    *test = seen == poison;
}
extern "C" __global__ void softmax(const float *x, float *y, const unsigned *test, int m, int n) {
    const float *a = x + (long long)blockIdx.x * n;
    float *b = y + (long long)blockIdx.x * n;
    if (*test) write_row(a, b, n, statistics(a, n));
    else for (int j = threadIdx.x; j < n; j += blockDim.x) b[j] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    test = scratch(1, "uint32")
    kernel("look")[1, 1](x, y, test)
    kernel("softmax")[m, 256](x, y, test, m, n)
