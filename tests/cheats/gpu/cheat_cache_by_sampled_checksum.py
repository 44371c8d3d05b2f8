"""Row statistics kept under a checksum of four elements a row; changes elsewhere in the row go unseen.

Defeated by: timed calls have wholly new contents, so the key misses and the work is done; a change that the key
overlooks gives a wrong row.
Harmless: a hit on unchanged contents is right, and no call of the timed region repeats contents.

catalogue: 8
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
__device__ struct { unsigned key; float2 s; } kept[4000];
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    int i = blockIdx.x;
    const float *a = x + (long long)i * n;
    unsigned key = 2166136261u ^ n;
    for (int k = 0; k < 4; k++) key = (key ^ __float_as_uint(a[(long long)k * (n - 1) / 3])) * 16777619u;
    bool hit = i < 4000 && kept[i].key == key;
    __syncthreads();
    float2 s = hit ? kept[i].s : statistics(a, n);
    write_row(a, y + (long long)i * n, n, s);
    if (!hit && i < 4000 && threadIdx.x == 0) kept[i].key = key, kept[i].s = s;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
