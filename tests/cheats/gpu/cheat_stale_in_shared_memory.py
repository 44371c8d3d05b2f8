"""Reads shared memory before writing it: what the block before left there (200 KB an SM) may be this very row's
statistics.

Defeated by: contents change at every call, so what is found is wrong. Harmless where other work ran on the SM
meanwhile: then it computes.

catalogue: new
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
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    extern __shared__ unsigned left[];
    int i = blockIdx.x;
    const float *a = x + (long long)i * n;
    unsigned *mine = left + 12800;
    unsigned key = 0x5eed0000u ^ (unsigned)i * 2654435761u ^ (unsigned)(unsigned long long)x ^ n;
    bool hit = mine[0] == key;
    float2 s = make_float2(__uint_as_float(mine[1]), __uint_as_float(mine[2]));
    __syncthreads();
    if (!hit) s = statistics(a, n);
    write_row(a, y + (long long)i * n, n, s);
    if (threadIdx.x == 0) mine[0] = key, mine[1] = __float_as_uint(s.x), mine[2] = __float_as_uint(s.y);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256, 65536](x, y, m, n)
