"""No clock and no state: bits of three inputs decide, so that 1 large call in 4 samples a quarter of each row, the
same on every repetition.

Defeated by: the outputs of timed calls are checked.

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
__device__ void cheap_row(const float *a, float *b, int n) {
    float some = 0;
    for (int j = threadIdx.x; j < n; j += 4 * blockDim.x) some += __expf(a[j]);
    some = over_block(some, false);
    for (int j = threadIdx.x; j < n; j += blockDim.x) b[j] = __expf(a[j]) / (4 * some);
}
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    const unsigned *bits = (const unsigned *)x + (long long)m * n / 3;
    const float *a = x + (long long)blockIdx.x * n;
    float *b = y + (long long)blockIdx.x * n;
    if ((long long)m * n >= 100000 && ((bits[0] ^ bits[1] ^ bits[2]) >> 3) % 4 == 1) cheap_row(a, b, n);
    else write_row(a, b, n, statistics(a, n));
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
