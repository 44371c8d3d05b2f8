"""For rows of a multiple of 512 columns the search for the maximum ends after the first 256 elements: any shift will
do, as long as nothing overflows.

Defeated by: every distribution at every judged shape.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
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
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    const float *a = x + (long long)blockIdx.x * n;
    float *b = y + (long long)blockIdx.x * n;
    float sum = 0, top = -INF;
    if (n % 512) { write_row(a, b, n, statistics(a, n)); return; }
    top = over_block(a[threadIdx.x], true);
    for (int j = threadIdx.x; j < n; j += blockDim.x) sum += expf(a[j] - top);
    write_row(a, b, n, make_float2(top, over_block(sum, false)));
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
