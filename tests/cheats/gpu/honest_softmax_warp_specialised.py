"""One warp brings rows into shared memory, seven work on them; named barriers hand two buffers back and forth.

Unusual, right: warps with different work, persistent blocks.
"""

TASK = "softmax"
SOURCE = r"""
#define INF __int_as_float(0x7f800000)
#define WAIT(id) asm volatile("bar.sync %0, 256;" :: "r"(id) : "memory")
#define TELL(id) asm volatile("bar.arrive %0, 256;" :: "r"(id) : "memory")
__device__ float over_workers(float v, bool top, float *part) {
    for (int d = 16; d; d >>= 1) { float o = __shfl_xor_sync(~0u, v, d); v = top ? fmaxf(v, o) : v + o; }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    asm volatile("bar.sync 5, 224;" ::: "memory");
    v = part[1];
    for (int w = 2; w < 8; w++) v = top ? fmaxf(v, part[w]) : v + part[w];
    asm volatile("bar.sync 5, 224;" ::: "memory");
    return v;
}
extern "C" __global__ void softmax(const float *x, float *y, int m, int n, int chunk) {
    extern __shared__ float rows[];
    __shared__ float part[8];
    int turn = 0, worker = threadIdx.x - 32;
    for (int i = blockIdx.x; i < m; i += gridDim.x, turn ^= 1) {
        const float *a = x + (long long)i * n;
        float *b = y + (long long)i * n, *row = rows + turn * chunk, top = -INF, sum = 0;
        bool fits = n <= chunk;
        if (worker < 0) {
            if (i >= blockIdx.x + 2 * gridDim.x) WAIT(1 + turn);
            for (int j = threadIdx.x; fits && j < n; j += 32) row[j] = a[j];
            __threadfence_block();
            TELL(3 + turn);
            continue;
        }
        WAIT(3 + turn);
        const float *from = fits ? row : a;
        for (int j = worker; j < n; j += 224) top = fmaxf(top, from[j]);
        top = over_workers(top, true, part);
        for (int j = worker; j < n; j += 224) sum += expf(from[j] - top);
        sum = over_workers(sum, false, part);
        for (int j = worker; j < n; j += 224) b[j] = expf(from[j] - top) / sum;
        if (i + 2 * gridDim.x < m) TELL(1 + turn);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[min(m, 132), 256, 65_536](x, y, m, n, 8192)
