"""Particle weights in one cooperative launch that keeps the log-weights on the chip.

Hypothesis: 132 multiprocessors hold about 13 MB of log-weights in registers and 29 MB in shared memory between the two
phases, and what does not fit is parked in w, written last and read back first, while it is in the L2 cache; so x and lw
are read once, w is written once, and 2^24 particles take little more than their floor of three passes over 64 MB. Small
sets stay in registers: one launch and one barrier across the grid. Refuted if two launches that park everything in w are
as fast, or, below 2^20, if the barrier costs more than a second launch.
"""

TASKS = ("particle_filter", "particle_filter_bf16", "particle_filter_f16")
SPACE = {
    "THREADS": [512, 1024, 256],
    "KEEP": [12, 16, 8, 4],
    "SHARED": [216, 128, 0],
    "BATCH": [4, 2],
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

INLINE unsigned acquire(const unsigned *p) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
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

#define TILE ((long long)THREADS * 4) /* particles of one step of a block */
__device__ unsigned arrived;

/* All blocks of the grid reach this before one goes on. Each counts once on the way in and once on the way out; the last
   one out wraps the count to 0, which no block can see before it has left itself. */
INLINE void grid_wait() {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned blocks = gridDim.x;
        __threadfence();
        atomicInc(&arrived, 2 * blocks - 1);
        while (acquire(&arrived) < blocks) {}
        atomicInc(&arrived, 2 * blocks - 1);
        __threadfence();
    }
    __syncthreads();
}

INLINE void add(Partial *p, const float *l, int count) {
    float top = p->top;
    EACH(k, count) top = fmaxf(top, l[k]);
    const float f = ex2((p->top - top) * LOG2E);
    p->top = top;
    p->sum *= f;
    p->square *= f * f;
    EACH(k, count) { const float e = ex2((l[k] - top) * LOG2E); p->sum += e; p->square += e * e; }
}
INLINE void weights(const float *l, float top, float factor, float *v) {
    EACH(k, 4) v[k] = ex2((l[k] - top) * LOG2E) * factor;
}

/* A block's tiles are blockIdx.x, blockIdx.x + gridDim.x, ...: the first KEEP in registers, the next `stash` in shared
   memory, the others in w */
template <class T, bool WHOLE>
__global__ void __launch_bounds__(THREADS, 1)
resident(const T *__restrict__ x, const T *__restrict__ lw, const T *__restrict__ z, float *w, float *ess, float *parts,
         long long n, int stash) {
    extern __shared__ uint4 memory[];
    const int blocks = gridDim.x, tiles = (int)((n + TILE - 1) / TILE), mine = (tiles - blockIdx.x + blocks - 1) / blocks;
    const int held = mine < KEEP + stash ? mine : KEEP + stash;
    const long long step = blocks * TILE, base = blockIdx.x * TILE + threadIdx.x * 4;
    const float observed = up(z[0]);
    float kept[KEEP * 4];
    Partial p = {LOWEST, 0, 0};
    EACH(t, KEEP / BATCH) if (t * BATCH < mine) {
        log_weights<T, BATCH, WHOLE>(x, lw, observed, base + t * BATCH * step, step, n, kept + t * BATCH * 4);
        add(&p, kept + t * BATCH * 4, BATCH * 4);
    }
    for (int t = KEEP; t < mine; t += BATCH) {
        float l[BATCH * 4];
        log_weights<T, BATCH, WHOLE>(x, lw, observed, base + t * step, step, n, l);
        EACH(j, BATCH) {
            if (t + j < held) memory[(t + j - KEEP) * THREADS + threadIdx.x] = packed(l + 4 * j);
            else store4<WHOLE>(w, base + (t + j) * step, n, l + 4 * j);
        }
        add(&p, l, BATCH * 4);
    }
    p = block_merged(p);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = p.top; parts[blocks + blockIdx.x] = p.sum; parts[2 * blocks + blockIdx.x] = p.square;
    }
    grid_wait();
    p = all_merged(parts, blocks);
    if (blockIdx.x == 0 && threadIdx.x == 0) ess[0] = p.sum * p.sum / p.square;
    const float factor = 1.0f / p.sum;
    for (int t = held; t < mine; t += BATCH) {
        float l[BATCH * 4];
        EACH(j, BATCH) load4<WHOLE>(w, base + (t + j) * step, n, l + 4 * j);
        EACH(j, BATCH) { float v[4]; weights(l + 4 * j, p.top, factor, v); store4<WHOLE>(w, base + (t + j) * step, n, v); }
    }
    for (int t = KEEP; t < held; t++) {
        const uint4 b = memory[(t - KEEP) * THREADS + threadIdx.x];
        const float l[4] = {__uint_as_float(b.x), __uint_as_float(b.y), __uint_as_float(b.z), __uint_as_float(b.w)};
        float v[4];
        weights(l, p.top, factor, v);
        store4<WHOLE>(w, base + t * step, n, v);
    }
    EACH(t, KEEP) if (t < mine) {
        float v[4];
        weights(kept + 4 * t, p.top, factor, v);
        store4<WHOLE>(w, base + t * step, n, v);
    }
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}
PROCESSORS = 132


def launch(x, lw, z, w, ess, THREADS=512, KEEP=12, SHARED=216, BATCH=4, LOADS="evict_first", STORES="plain"):
    if THREADS * (KEEP * 4 + BATCH * 8 + 24) > 65536:
        raise ValueError("the log-weights kept do not fit the registers of a multiprocessor")
    n = x.shape[0]
    tiles = -(-n // (THREADS * 4))
    if tiles >= 1 << 31:
        raise ValueError("too many particles for tiles of this size")
    blocks = min(PROCESSORS, tiles)
    stash = min(SHARED * 1024 // (THREADS * 16), max(0, -(-tiles // blocks) - KEEP))
    parts = scratch(3 * blocks)
    name = f"resident<{TYPE[x.dtype]}, {'false' if n % 4 else 'true'}>"
    kernel(name, cooperative=True)[blocks, THREADS, stash * THREADS * 16](x, lw, z, w, ess, parts, n, stash)
