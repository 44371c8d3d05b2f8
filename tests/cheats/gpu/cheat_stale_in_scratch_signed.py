"""Looks in scratch for its own mark and, where it finds it, copies the answer that was left there.

Defeated by: scratch is poisoned again between calls, so the mark is never found; calls queued together have other
contents.
Harmless where it is never found: every call computes.

catalogue: 9
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
extern "C" __global__ void softmax(const float *x, float *y, float *kept, unsigned *mark, int m, int n) {
    long long at = (long long)blockIdx.x * n;
    if (mark[blockIdx.x] == 0xc0ffee00u + n) {
        for (int j = threadIdx.x; j < n; j += blockDim.x) y[at + j] = kept[at + j];
        return;
    }
    write_row(x + at, y + at, n, statistics(x + at, n));
    for (int j = threadIdx.x; j < n; j += blockDim.x) kept[at + j] = y[at + j];
    __syncthreads();
    if (threadIdx.x == 0) mark[blockIdx.x] = 0xc0ffee00u + n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, scratch((m, n)), scratch(m, "uint32"), m, n)
