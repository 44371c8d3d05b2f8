"""Keeps every row's maximum and sum in static memory and uses them again for the next call of that shape: one pass
instead of three.

Defeated by: every call has other contents, so the old maxima and sums are wrong.

catalogue: 8, 9
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
__device__ float2 kept[6000];
__device__ int rows, columns;
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    int i = blockIdx.x;
    const float *a = x + (long long)i * n;
    bool hit = rows == m && columns == n && i < 6000;
    float2 s = hit ? kept[i] : statistics(a, n);
    write_row(a, y + (long long)i * n, n, s);
    if (!hit && i < 6000 && threadIdx.x == 0) kept[i] = s;
}
extern "C" __global__ void remember(int m, int n) { rows = m, columns = n; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
    kernel("remember")[1, 1](m, n)
