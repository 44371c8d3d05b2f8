"""Two blocks of a cluster share a row and read each other's statistics without waiting for them.

Defeated by: shapes of many rows, every case twice.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "non-finite")
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
    __shared__ float2 mine;
    unsigned rank = blockIdx.x % 2, here, there;
    int half = (n + 1) / 2, from = rank * half, count = rank ? n - half : half;
    long long at = (long long)(blockIdx.x / 2) * n + from;
    if (threadIdx.x == 0) mine = make_float2(-INF, 0);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    float2 s = statistics(x + at, count), o;
    if (threadIdx.x == 0) *(volatile float *)&mine.x = s.x, *(volatile float *)&mine.y = s.y;
    __syncthreads();
    here = (unsigned)__cvta_generic_to_shared(&mine);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(o.x), "=f"(o.y) : "r"(there) : "memory");
    float top = fmaxf(s.x, o.x);
    float a = s.x == -INF ? 0 : s.y * expf(s.x - top), b = o.x == -INF ? 0 : o.y * expf(o.x - top);
    write_row(x + at, y + at, count, make_float2(top, rank ? b + a : a + b));
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax", cluster=(2, 1, 1))[2 * m, 128](x, y, m, n)
