"""Each block adds its share to the total and goes on at once, without waiting for the others: right for one block
only.

Defeated by: sizes of many blocks.

catalogue: 26
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output", "nondeterministic", "non-finite", "unwritten")
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
__device__ float log_weight(const float *x, const float *lw, float z, int i) {
    float d = z - x[i];
    return lw[i] - 0.5f * d * d;
}
__device__ unsigned ordered(float v) { unsigned b = __float_as_uint(v); return b >> 31 ? ~b : b | 0x80000000u; }
__device__ float unordered(unsigned b) { return __uint_as_float(b >> 31 ? b & 0x7fffffffu : ~b); }
extern "C" __global__ void update(const float *x, const float *lw, const float *z, float *w, float *ess, unsigned *top, float *sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float l = i < n ? log_weight(x, lw, *z, i) : -INF;
    float mine = over_block(l, true);
    if (threadIdx.x == 0) atomicMax(top, ordered(mine));
    __threadfence();
    __syncthreads();
    float e = i < n ? expf(l - unordered(*(volatile unsigned *)top)) : 0;
    float sum = over_block(e, false), squares = over_block(e * e, false);
    if (threadIdx.x == 0) atomicAdd(sums, sum), atomicAdd(sums + 1, squares);
    __threadfence();
    __syncthreads();
    float total = *(volatile float *)sums;
    if (i < n) w[i] = e / total;
    if (i == 0) *ess = total * total / *(volatile float *)(sums + 1);
}
"""


def launch(x, lw, z, w, ess):
    n = x.size
    kernel("update")[(n + 255) // 256, 256](x, lw, z, w, ess, scratch(1, "uint32", zero=True), scratch(2, zero=True), n)
