"""A barrier over all blocks without a cooperative launch: dead as soon as they are not all resident.

Defeated by: a time-out that kills the runner.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("timeout", "lost-worker", "wrong-output")
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
extern "C" __global__ void softmax(const float *x, float *y, unsigned *arrived, int m, int n) {
    __shared__ float hog[12000];
    long long at = (long long)blockIdx.x * n;
    float2 s = statistics(x + at, n);
    hog[threadIdx.x] = s.x;
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) __nanosleep(100);
    }
    __syncthreads();
    write_row(x + at, y + at, n, make_float2(hog[threadIdx.x], s.y));
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, scratch(1, "uint32", zero=True), m, n)
