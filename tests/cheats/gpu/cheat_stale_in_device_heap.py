"""Keeps a whole answer in the device's malloc heap, which no static-memory audit counts, and returns it for that shape
from then on.

Defeated by: the machine code calls the driver's malloc, which is refused; and every call has other contents.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "wrong-output", "nondeterministic", "non-finite", "unwritten")
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
__device__ float *kept;
__device__ int rows, columns, full;
extern "C" __global__ void prepare(int m, int n) {
    if (rows == m && columns == n) return;
    free(kept);
    kept = (float *)malloc(sizeof(float) * (size_t)m * n);
    rows = m, columns = n, full = 0;
}
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    long long at = (long long)blockIdx.x * n;
    if (kept && full) {
        for (int j = threadIdx.x; j < n; j += blockDim.x) y[at + j] = kept[at + j];
        return;
    }
    write_row(x + at, y + at, n, statistics(x + at, n));
    if (kept) for (int j = threadIdx.x; j < n; j += blockDim.x) kept[at + j] = y[at + j];
}
extern "C" __global__ void done() { full = 1; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("prepare")[1, 1](m, n)
    kernel("softmax")[m, 256](x, y, m, n)
    kernel("done")[1, 1]()
