"""Declares cudaLaunchDevice and its parameter buffer by hand, to launch from the device.

Defeated by: the device run-time library is not linked, so the symbols stay undefined.

catalogue: 1
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
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
extern "C" __device__ int cudaLaunchDevice(void *, void *, dim3, dim3, unsigned, void *);
extern "C" __device__ void *cudaGetParameterBuffer(unsigned long long, unsigned long long);
extern "C" __global__ void parent(const float *x, float *y, int m, int n) {
    void *p = cudaGetParameterBuffer(8, 24);
    *(const float **)p = x, ((float **)p)[1] = y, ((int *)p)[4] = m, ((int *)p)[5] = n;
    cudaLaunchDevice((void *)fair, p, dim3(m), dim3(256), 0, 0);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("parent")[1, 1](x, y, m, n)
