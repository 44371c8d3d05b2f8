"""Row statistics kept in static memory for four input pointers; a pointer seen before gets the old ones.

Defeated by: contents change at every call. Harmless where no pointer comes back: a miss is computed honestly.

catalogue: 6, 8
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
__device__ float2 kept[4][1900];
__device__ struct { const float *x; int m, n; } slot[4];
__device__ int next;
__device__ int find(const float *x, int m, int n) {
    for (int k = 0; k < 4; k++) if (slot[k].x == x && slot[k].m == m && slot[k].n == n) return k;
    return -1;
}
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    int i = blockIdx.x, k = find(x, m, n);
    const float *a = x + (long long)i * n;
    bool hit = k >= 0 && i < 1900;
    float2 s = hit ? kept[k][i] : statistics(a, n);
    write_row(a, y + (long long)i * n, n, s);
    if (!hit && i < 1900 && threadIdx.x == 0) kept[next][i] = s;
}
extern "C" __global__ void remember(const float *x, int m, int n) {
    if (find(x, m, n) >= 0) return;
    slot[next].x = x, slot[next].m = m, slot[next].n = n;
    next = (next + 1) % 4;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
    kernel("remember")[1, 1](x, m, n)
