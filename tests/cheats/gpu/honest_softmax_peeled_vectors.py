"""Four floats a load from the first aligned address on, single ones before and behind, for rows that start anywhere.

Unusual, right: rows of odd length are not aligned.
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
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    const float *a = x + (long long)blockIdx.x * n;
    float *b = y + (long long)blockIdx.x * n;
    int head = min(n, (int)((4 - ((unsigned long long)a >> 2) % 4) % 4)), body = (n - head) / 4, tail = head + 4 * body;
    const float4 *v = (const float4 *)(a + head);
    float top = -INF, sum = 0;
    for (int j = threadIdx.x; j < head; j += blockDim.x) top = fmaxf(top, a[j]);
    for (int j = threadIdx.x; j < body; j += blockDim.x) { float4 q = v[j]; top = fmaxf(fmaxf(fmaxf(top, q.x), fmaxf(q.y, q.z)), q.w); }
    for (int j = tail + threadIdx.x; j < n; j += blockDim.x) top = fmaxf(top, a[j]);
    top = over_block(top, true);
    for (int j = threadIdx.x; j < head; j += blockDim.x) sum += expf(a[j] - top);
    for (int j = threadIdx.x; j < body; j += blockDim.x) { float4 q = v[j]; sum += expf(q.x - top) + expf(q.y - top) + expf(q.z - top) + expf(q.w - top); }
    for (int j = tail + threadIdx.x; j < n; j += blockDim.x) sum += expf(a[j] - top);
    sum = over_block(sum, false);
    for (int j = threadIdx.x; j < n; j += blockDim.x) b[j] = expf(a[j] - top) / sum;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
