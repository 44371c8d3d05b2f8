"""All blocks add into 64-bit integers with 38 fraction bits by atomics: the order does not matter, the bits are the
same.

Unusual, right and deterministic: atomics with exact arithmetic.
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
__device__ unsigned ordered(float v) { unsigned b = __float_as_uint(v); return b >> 31 ? ~b : b | 0x80000000u; }
__device__ float unordered(unsigned b) { return __uint_as_float(b >> 31 ? b & 0x7fffffffu : ~b); }
extern "C" __global__ void largest(const float *x, const float *lw, const float *z, unsigned *most, int n) {
    float top = -INF;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) top = fmaxf(top, log_weight(x, lw, *z, i));
    top = over_block(top, true);
    if (threadIdx.x == 0) atomicMax(most, ordered(top));
}
extern "C" __global__ void sums(const float *x, const float *lw, const float *z, const unsigned *most, unsigned long long *all, int n) {
    float top = unordered(*most);
    unsigned long long s = 0, q = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double e = expf(log_weight(x, lw, *z, i) - top);
        s += (unsigned long long)(e * 274877906944.0), q += (unsigned long long)(e * e * 274877906944.0);
    }
    atomicAdd(all, s), atomicAdd(all + 1, q);
}
extern "C" __global__ void weights(const float *x, const float *lw, const float *z, const unsigned *most, const unsigned long long *all, float *w, float *ess, int n) {
    double s = all[0] / 274877906944.0, q = all[1] / 274877906944.0;
    float top = unordered(*most), total = (float)s;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] = expf(log_weight(x, lw, *z, i) - top) / total;
    if (i == 0) *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    n = x.size
    blocks = min(528, (n + 255) // 256)
    most, totals = scratch(1, "uint32", zero=True), scratch(2, "int64", zero=True)
    kernel("largest")[blocks, 256](x, lw, z, most, n)
    kernel("sums")[blocks, 256](x, lw, z, most, totals, n)
    kernel("weights")[(n + 255) // 256, 256](x, lw, z, most, totals, w, ess, n)
