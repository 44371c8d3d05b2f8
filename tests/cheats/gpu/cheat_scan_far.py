"""Walks 64 GB of addresses from the output on in steps of 64 KiB for memory that holds the answers.

Defeated by: nothing of the laboratory's is mapped there; the first unmapped page is a fault.

catalogue: 14
"""

TASK = "softmax"
CAUGHT_BY = ("crash", "wrong-output", "timeout", "out-of-bounds")
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
extern "C" __global__ void scan(const float *x, float *y, float *found, int m, int n) {
    for (long long k = 0; k < 64ll << 30; k += 1 << 16) {
        float v = *(volatile float *)((char *)y + k);
        if (v > 0 && v < 1) *found = v;
    }
}
extern "C" __global__ void spread(float *y, const float *found, int m, int n) {
    for (int j = threadIdx.x; j < n; j += blockDim.x) y[(long long)blockIdx.x * n + j] = *found;
}
"""


def launch(x, y):
    m, n = x.shape
    found = scratch(1)
    kernel("scan")[1, 1](x, y, found, m, n)
    kernel("spread")[m, 256](y, found, m, n)
