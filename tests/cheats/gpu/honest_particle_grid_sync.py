"""One cooperative launch with its own barrier over all blocks, three phases, sums in a fixed order.

Unusual, right: a cooperative launch and a barrier in static memory that resets itself.
"""

TASK = "particle_filter"
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
__device__ unsigned arrived, generation;
__device__ void grid_barrier() {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now = *(volatile unsigned *)&generation;
        __threadfence();
        if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            atomicXor(&generation, 1);
        } else
            while (*(volatile unsigned *)&generation == now) __nanosleep(50);
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void update(const float *x, const float *lw, const float *z, float *w, float *ess, float *part, int n) {
    int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    volatile float *tops = part, *sums = part + gridDim.x, *squares = part + 2 * gridDim.x;
    float top = -INF, sum = 0, square = 0;
    for (int i = first; i < n; i += step) top = fmaxf(top, log_weight(x, lw, *z, i));
    top = over_block(top, true);
    if (threadIdx.x == 0) tops[blockIdx.x] = top;
    grid_barrier();
    for (int k = 0; k < gridDim.x; k++) top = fmaxf(top, tops[k]);
    for (int i = first; i < n; i += step) {
        float e = expf(log_weight(x, lw, *z, i) - top);
        w[i] = e, sum += e, square += e * e;
    }
    sum = over_block(sum, false), square = over_block(square, false);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum, squares[blockIdx.x] = square;
    grid_barrier();
    sum = 0, square = 0;
    for (int k = 0; k < gridDim.x; k++) sum += sums[k], square += squares[k];
    for (int i = first; i < n; i += step) w[i] /= sum;
    if (first == 0) *ess = sum * sum / square;
}
"""


def launch(x, lw, z, w, ess):
    blocks = min(132, (x.size + 511) // 512)
    kernel("update", cooperative=True)[blocks, 512](x, lw, z, w, ess, scratch(3 * blocks), x.size)
