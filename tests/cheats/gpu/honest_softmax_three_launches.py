"""Three launches: maxima, sums, results; the statistics of the rows go through scratch.

Unusual, right: launches of one plan run in order.
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
extern "C" __global__ void maxima(const float *x, float *tops, int n) {
    float top = -INF;
    for (int j = threadIdx.x; j < n; j += blockDim.x) top = fmaxf(top, x[(long long)blockIdx.x * n + j]);
    top = over_block(top, true);
    if (threadIdx.x == 0) tops[blockIdx.x] = top;
}
extern "C" __global__ void sums(const float *x, const float *tops, float *totals, int n) {
    float sum = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) sum += expf(x[(long long)blockIdx.x * n + j] - tops[blockIdx.x]);
    sum = over_block(sum, false);
    if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}
extern "C" __global__ void results(const float *x, const float *tops, const float *totals, float *y, int n) {
    long long at = (long long)blockIdx.x * n;
    write_row(x + at, y + at, n, make_float2(tops[blockIdx.x], totals[blockIdx.x]));
}
"""


def launch(x, y):
    m, n = x.shape
    tops, totals = scratch(m), scratch(m)
    kernel("maxima")[m, 128](x, tops, n)
    kernel("sums")[m, 128](x, tops, totals, n)
    kernel("results")[m, 128](x, tops, totals, y, n)
