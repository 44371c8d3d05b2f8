"""Particle weights in two launches: log-weights and partial sums block by block, then the weights.

Hypothesis: the second launch walks backwards, so that what the first touched last is still in the L2 cache, and with the
exponentials parked in w itself (relative to each block's maximum) most of what is parked is rescaled there before it ever
reaches memory; reading x and lw again instead moves twice the bytes. The last block of the first launch merges all the
partial sums, so that no block of the second starts with a reduction. Refuted if "recompute" is as fast (then the cache
keeps nothing of w), or if one launch that holds the particles on the chip is no faster than this.
"""

TASKS = ("particle_filter", "particle_filter_bf16", "particle_filter_f16")
SPACE = {
    "THREADS": [512, 256, 128, 1024],
    "ITEMS": [4, 2, 8],
    "PARKED": ["exp", "log", "recompute"],
    "MERGE": ["last", "every"],
    "LOADS": ["evict_first", "stream", "plain"],
    "STORES": ["plain", "stream"],
}

SOURCE = r"""struct bf16 { unsigned short bits; };
struct f16 { unsigned short bits; };
#define INLINE __device__ __forceinline__
#define EACH(k, count) _Pragma("unroll") for (int k = 0; k < (count); k++)

/* machine */
INLINE float up(float v) { return v; }
INLINE float up(bf16 v) { return __uint_as_float((unsigned)v.bits << 16); }
INLINE float up(f16 v) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits)); return r; }
INLINE void down(float v, float *to) { *to = v; }
INLINE void down(float v, bf16 *to) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }
INLINE void down(float v, f16 *to) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }

INLINE float ex2(float v) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }

#ifdef LOADS_stream
#define HINT ".nc.L1::no_allocate"
#else
#define HINT ".nc"
#endif
INLINE uint4 load16(const void *p) {
    uint4 v;
#ifdef LOADS_evict_first
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p), "l"(policy));
#else
    asm("ld.global" HINT ".v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
#endif
    return v;
}
INLINE uint2 load8(const void *p) {
    uint2 v;
    asm("ld.global" HINT ".v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}
/* What this launch wrote itself: not through the read-only path */
INLINE uint4 load16_again(const void *p) {
    uint4 v;
    asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}
INLINE float fresh(const float *p) { return __ldcg(p); }

#ifdef STORES_stream
#define WRITE "st.global.cs.v4.b32"
#else
#define WRITE "st.global.v4.b32"
#endif
INLINE void store16(void *p, uint4 v) { /* by name: four stores beside a branch of single ones are not joined again */
    asm volatile(WRITE " [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}
/* end machine */

#define LOG2E 1.44269504f
#define LOWEST -3.0e38f /* finite: no difference of infinities, and exp2 of a distance to it is 0 */
INLINE float warp_max(float v) { EACH(k, 5) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 16 >> k)); return v; }
INLINE float warp_sum(float v) { EACH(k, 5) v += __shfl_xor_sync(0xffffffffu, v, 16 >> k); return v; }

/* Four elements, packed as they lie in memory */
template <class T> struct Four {
    uint2 bits;
    INLINE void load(const T *p) { bits = load8(p); }
    INLINE float at(int k) const { T t; t.bits = (unsigned short)((k < 2 ? bits.x : bits.y) >> 16 * (k % 2)); return up(t); }
};
template <> struct Four<float> {
    uint4 bits;
    INLINE void load(const float *p) { bits = load16(p); }
    INLINE float at(int k) const { return __uint_as_float(k == 0 ? bits.x : k == 1 ? bits.y : k == 2 ? bits.z : bits.w); }
};

INLINE float log_weight(float x, float lw, float z) { const float d = z - x; return lw - 0.5f * d * d; }
INLINE uint4 packed(const float *v) {
    return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
}

/* Log-weights of COUNT groups of four, at i, i + step, ...; LOWEST where there is no particle. All loads come first.
   WHOLE: the number of particles is a multiple of four, no group is cut. */
template <class T, int COUNT, bool WHOLE>
INLINE void log_weights(const T *x, const T *lw, float z, long long i, long long step, long long n, float *l) {
    Four<T> a[COUNT], b[COUNT];
    EACH(j, COUNT) if (i + j * step + 4 <= n) { a[j].load(x + i + j * step); b[j].load(lw + i + j * step); }
    EACH(j, COUNT) {
        const long long at = i + j * step;
        if (at + 4 <= n) EACH(k, 4) l[4 * j + k] = log_weight(a[j].at(k), b[j].at(k), z);
        else EACH(k, 4) l[4 * j + k] = !WHOLE && at + k < n ? log_weight(up(x[at + k]), up(lw[at + k]), z) : LOWEST;
    }
}
template <bool WHOLE> INLINE void store4(float *w, long long i, long long n, const float *v) {
    if (i + 4 <= n) store16(w + i, packed(v));
    else if (!WHOLE) EACH(k, 4) if (i + k < n) w[i + k] = v[k];
}
template <bool WHOLE> INLINE void load4(const float *w, long long i, long long n, float *v) {
    if (i + 4 <= n) {
        const uint4 b = load16_again(w + i);
        v[0] = __uint_as_float(b.x); v[1] = __uint_as_float(b.y); v[2] = __uint_as_float(b.z); v[3] = __uint_as_float(b.w);
    } else EACH(k, 4) v[k] = !WHOLE && i + k < n ? fresh(w + i + k) : LOWEST;
}

/* A maximum, the sum of exponentials relative to it and the sum of their squares */
struct Partial { float top, sum, square; };
INLINE Partial merged(Partial a, Partial b) {
    const float top = fmaxf(a.top, b.top), f = ex2((a.top - top) * LOG2E), g = ex2((b.top - top) * LOG2E);
    const Partial p = {top, a.sum * f + b.sum * g, a.square * f * f + b.square * g * g};
    return p;
}
INLINE Partial warp_merged(Partial p) {
    EACH(k, 5) {
        const Partial other = {__shfl_xor_sync(0xffffffffu, p.top, 16 >> k), __shfl_xor_sync(0xffffffffu, p.sum, 16 >> k),
                               __shfl_xor_sync(0xffffffffu, p.square, 16 >> k)};
        p = merged(p, other);
    }
    return p;
}
/* The block's partials merged, in every thread; ends with all threads past the reads */
INLINE Partial block_merged(Partial p) {
    __shared__ Partial parts[THREADS / 32];
    p = warp_merged(p);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = p;
    __syncthreads();
    p.top = LOWEST; p.sum = 0; p.square = 0;
    if (threadIdx.x % 32 < THREADS / 32) p = parts[threadIdx.x % 32];
    p = warp_merged(p);
    __syncthreads();
    return p;
}
/* What count blocks left in parts (tops, then sums, then squares), merged, in every thread */
INLINE Partial all_merged(const float *parts, int count) {
    Partial p = {LOWEST, 0, 0};
    _Pragma("unroll 4") for (int k = threadIdx.x; k < count; k += THREADS) {
        const Partial other = {fresh(parts + k), fresh(parts + count + k), fresh(parts + 2 * count + k)};
        p = merged(p, other);
    }
    return block_merged(p);
}

#define CHUNK ((long long)THREADS * ITEMS * 4) /* particles a block */
__device__ unsigned arrived; /* wraps to 0 at the last block */

template <class T, bool WHOLE>
__global__ void __launch_bounds__(THREADS)
weigh(const T *__restrict__ x, const T *__restrict__ lw, const T *__restrict__ z, float *w, float *ess, float *parts, long long n) {
    const int blocks = gridDim.x, b = blockIdx.x;
    const long long i = b * CHUNK + threadIdx.x * 4;
    float l[ITEMS * 4];
    log_weights<T, ITEMS, WHOLE>(x, lw, up(z[0]), i, THREADS * 4, n, l);
    Partial p = {LOWEST, 0, 0};
    EACH(k, ITEMS * 4) p.top = fmaxf(p.top, l[k]);
#ifdef PARKED_log
    EACH(j, ITEMS) store4<WHOLE>(w, i + j * THREADS * 4, n, l + 4 * j);
#endif
#ifdef PARKED_exp
    __shared__ float tops[THREADS / 32];
    p.top = warp_max(p.top);
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = p.top;
    __syncthreads();
    EACH(k, THREADS / 32) p.top = fmaxf(p.top, tops[k]);
#endif
    EACH(k, ITEMS * 4) {
        l[k] = ex2((l[k] - p.top) * LOG2E);
        p.sum += l[k];
        p.square += l[k] * l[k];
    }
#ifdef PARKED_exp
    EACH(j, ITEMS) store4<WHOLE>(w, i + j * THREADS * 4, n, l + 4 * j);
#endif
    p = block_merged(p);
    if (threadIdx.x == 0) { parts[b] = p.top; parts[blocks + b] = p.sum; parts[2 * blocks + b] = p.square; }
#ifdef MERGE_last
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(&arrived, blocks - 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        p = all_merged(parts, blocks);
        if (threadIdx.x == 0) { parts[3 * blocks] = p.top; parts[3 * blocks + 1] = p.sum; ess[0] = p.sum * p.sum / p.square; }
    }
#endif
}

template <class T, bool WHOLE>
__global__ void __launch_bounds__(THREADS)
settle(const T *__restrict__ x, const T *__restrict__ lw, const T *__restrict__ z, float *w, float *ess, const float *parts, long long n) {
    const int blocks = gridDim.x, b = blocks - 1 - blockIdx.x;
    const long long i = b * CHUNK + threadIdx.x * 4;
    float v[ITEMS * 4];
#ifdef PARKED_recompute
    log_weights<T, ITEMS, WHOLE>(x, lw, up(z[0]), i, THREADS * 4, n, v);
#else
    EACH(j, ITEMS) load4<WHOLE>(w, i + j * THREADS * 4, n, v + 4 * j);
#endif
#ifdef MERGE_last
    const Partial p = {fresh(parts + 3 * blocks), fresh(parts + 3 * blocks + 1), 1.0f};
#else
    const Partial p = all_merged(parts, blocks);
    if (b == 0 && threadIdx.x == 0) ess[0] = p.sum * p.sum / p.square;
#endif
#ifdef PARKED_exp
    const float factor = ex2((fresh(parts + b) - p.top) * LOG2E) / p.sum;
    EACH(k, ITEMS * 4) v[k] *= factor;
#else
    const float factor = 1.0f / p.sum;
    EACH(k, ITEMS * 4) v[k] = ex2((v[k] - p.top) * LOG2E) * factor;
#endif
    EACH(j, ITEMS) store4<WHOLE>(w, i + j * THREADS * 4, n, v + 4 * j);
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}


def launch(x, lw, z, w, ess, THREADS=512, ITEMS=4, PARKED="exp", MERGE="last", LOADS="evict_first", STORES="plain"):
    if PARKED != "recompute" and STORES == "stream":
        raise ValueError("what is parked in w should stay in the cache: no streaming stores")
    n = x.shape[0]
    blocks = -(-n // (THREADS * ITEMS * 4))
    parts = scratch(3 * blocks + 2)
    types = f"{TYPE[x.dtype]}, {'false' if n % 4 else 'true'}"
    kernel(f"weigh<{types}>")[blocks, THREADS](x, lw, z, w, ess, parts, n)
    kernel(f"settle<{types}>")[blocks, THREADS](x, lw, z, w, ess, parts, n)
