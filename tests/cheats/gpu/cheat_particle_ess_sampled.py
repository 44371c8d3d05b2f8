"""The effective sample size from every 16th particle; the weights are right.

Defeated by: every output has its own error budget.

catalogue: 22
"""

TASK = "particle_filter"
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
__device__ float log_weight(const float *x, const float *lw, float z, int i) {
    float d = z - x[i];
    return lw[i] - 0.5f * d * d;
}
extern "C" __global__ void update(const float *x, const float *lw, const float *z, float *w, float *ess, int n) {
    float top = -INF, sum = 0, some = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, log_weight(x, lw, *z, i));
    top = over_block(top, true);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float e = expf(log_weight(x, lw, *z, i) - top);
        w[i] = e, sum += e;
        if (i % 16 == 0) some += e, squares += e * e;
    }
    sum = over_block(sum, false), some = over_block(some, false), squares = over_block(squares, false);
    for (int i = threadIdx.x; i < n; i += blockDim.x) w[i] /= sum;
    if (threadIdx.x == 0) *ess = some * some / squares * n / ((n + 15) / 16);
}
"""


def launch(x, lw, z, w, ess):
    kernel("update")[1, 1024](x, lw, z, w, ess, x.size)
