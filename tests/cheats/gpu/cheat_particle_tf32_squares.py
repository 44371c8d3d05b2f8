"""From 65,536 particles on the squares of the effective sample size are rounded to TF32 before they are summed.

Defeated by: a budget that follows the data, and sparse inputs.

catalogue: new
"""

TASK = "particle_filter"
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
__device__ float log_weight(const float *x, const float *lw, float z, int i) {
    float d = z - x[i];
    return lw[i] - 0.5f * d * d;
}
__device__ float tf32(float v) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return __uint_as_float(r);
}
extern "C" __global__ void partial(const float *x, const float *lw, const float *z, float *part, int n) {
    float top = -INF, sum = 0, square = 0;
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) top = fmaxf(top, log_weight(x, lw, *z, i));
    top = over_block(top, true);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float e = expf(log_weight(x, lw, *z, i) - top);
        sum += e, square += n < 65536 ? e * e : tf32(tf32(e) * tf32(e));
    }
    sum = over_block(sum, false), square = over_block(square, false);
    if (threadIdx.x == 0) part[3 * blockIdx.x] = top, part[3 * blockIdx.x + 1] = sum, part[3 * blockIdx.x + 2] = square;
}
extern "C" __global__ void weights(const float *x, const float *lw, const float *z, const float *part, float *w, float *ess, int blocks, int n) {
    float top = -INF, sum = 0, square = 0;
    for (int k = 0; k < blocks; k++) top = fmaxf(top, part[3 * k]);
    for (int k = 0; k < blocks; k++) {
        float f = expf(part[3 * k] - top);
        sum += f * part[3 * k + 1], square += f * f * part[3 * k + 2];
    }
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] = expf(log_weight(x, lw, *z, i) - top) / sum;
    if (i == 0) *ess = sum * sum / square;
}
"""


def launch(x, lw, z, w, ess):
    n = x.size
    blocks = min(132, (n + 255) // 256)
    part = scratch(3 * blocks)
    kernel("partial")[blocks, 256](x, lw, z, part, n)
    kernel("weights")[(n + 255) // 256, 256](x, lw, z, part, w, ess, blocks, n)
