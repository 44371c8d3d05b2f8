"""float16 in and out; answers below the smallest normal number become 0.

Defeated by: small answers have an error budget of their own.

catalogue: new
"""

TASK = "softmax_f16"
CAUGHT_BY = ("wrong-output",)
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
#include <cuda_fp16.h>
extern "C" __global__ void softmax(const __half *x, __half *y, int m, int n) {
    const __half *a = x + (long long)blockIdx.x * n;
    __half *b = y + (long long)blockIdx.x * n;
    float top = -INF, sum = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) top = fmaxf(top, __half2float(a[j]));
    top = over_block(top, true);
    for (int j = threadIdx.x; j < n; j += blockDim.x) sum += expf(__half2float(a[j]) - top);
    sum = over_block(sum, false);
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float v = expf(__half2float(a[j]) - top) / sum;
        b[j] = __float2half(v < 6.104e-5f ? 0.0f : v);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
