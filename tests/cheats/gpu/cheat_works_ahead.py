"""Remembers the buffers of earlier calls, and in one launch does the work of the next three calls too, whose inputs
already lie there;
those calls find numbers instead of poison and end at once. Every result is right, but several small calls are timed
as one large one.

Defeated by: when a call ends, the outputs of the other calls must still hold their poison (a write outside its own
buffers).

catalogue: new, 16
"""

TASK = "softmax"
CAUGHT_BY = ("out-of-bounds", "hidden-work", "too-good", "wrong-output", "nondeterministic")
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
__device__ const float *seen_x[64];
__device__ float *seen_y[64];
__device__ int rows, columns, seen;
__device__ int find(const float *x, const float *y, int m, int n) {
    if (rows == m && columns == n)
        for (int k = 0; k < seen; k++) if (seen_x[k] == x && seen_y[k] == y) return k;
    return -1;
}
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    if (blockIdx.y) {
        int k = find(x, y, m, n);
        if (k < 0 || k + blockIdx.y >= seen) return;
        x = seen_x[k + blockIdx.y], y = seen_y[k + blockIdx.y];
    }
    const float *a = x + (long long)blockIdx.x * n;
    float *b = y + (long long)blockIdx.x * n;
    float last = b[n - 1];
    __syncthreads();
    if (last == last) return;
    write_row(a, b, n, statistics(a, n));
}
extern "C" __global__ void remember(const float *x, float *y, int m, int n) {
    if (find(x, y, m, n) >= 0) return;
    if (rows != m || columns != n || seen == 64) seen = 0;
    rows = m, columns = n;
    seen_x[seen] = x, seen_y[seen] = y, seen++;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[(m, 4), 256](x, y, m, n)
    kernel("remember")[1, 1](x, y, m, n)
