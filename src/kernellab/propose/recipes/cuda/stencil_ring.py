"""Binomial __SIZE__x__SIZE__ smoothing, a ring of rows in shared memory that asynchronous copies keep full.

Hypothesis: the rows ahead wait in shared memory, not in registers, so many more bytes are in flight than a thread can
name, each row is fetched from memory once a band, and every neighbour across is a read of shared memory; the horizontal
sums of the last __SIZE__ rows stay in registers. The copy engine (one thread, one copy a row) spares the other threads their
addresses; a copy a thread needs no barrier in memory. Refuted if columns in registers are as fast.
"""

VARIANTS = {
    "stencil3x3": {
        "SIZE": "3",
        "RADIUS": "1",
        "BINOMIAL": "#define BINOMIAL(AT) (0.5f * AT(0) + 0.25f * (AT(-1) + AT(1)))",
    },
    "stencil5x5": {
        "SIZE": "5",
        "RADIUS": "2",
        "BINOMIAL": "#define BINOMIAL(AT) (0.375f * AT(0) + (0.25f * (AT(-1) + AT(1)) + 0.0625f * (AT(-2) + AT(2))))",
    },
}
TASKS = ("stencil__SIZE__x__SIZE__", "stencil__SIZE__x__SIZE___bf16", "stencil__SIZE__x__SIZE___f16")
SPACE = {
    "THREADS": [256, 128, 512],
    "ROWS": [64, 32, 16, 128],
    "STAGES": [8, 6, 4, 12],
    "FILL": ["bulk", "each"],
    "STORES": ["plain", "stream"],
}

SOURCE = r"""struct bf16 { unsigned short bits; };
struct f16 { unsigned short bits; };
#define INLINE __device__ __forceinline__
#define EACH(k, count) _Pragma("unroll") for (int k = 0; k < (count); k++)
#define RADIUS __RADIUS__
/* The binomial sum of 2 * RADIUS + 1 values that AT gives for -RADIUS to RADIUS */
__BINOMIAL__

/* machine */
INLINE float up(float v) { return v; }
INLINE float up(bf16 v) { return __uint_as_float((unsigned)v.bits << 16); }
INLINE float up(f16 v) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits)); return r; }
INLINE void down(float v, float *to) { *to = v; }
INLINE void down(float v, bf16 *to) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }
INLINE void down(float v, f16 *to) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }

INLINE unsigned pair(float low, float high, const bf16 *) {
    unsigned r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r;
}
INLINE unsigned pair(float low, float high, const f16 *) {
    unsigned r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r;
}

#ifdef STORES_stream
#define WRITE "st.global.cs.v4.b32"
#else
#define WRITE "st.global.v4.b32"
#endif
INLINE void store16(void *p, uint4 v) { /* by name: four stores beside a branch of single ones are not joined again */
    asm volatile(WRITE " [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}

/* 16 bytes to shared memory, asynchronously: from memory, or zeros */
INLINE void fill16(void *to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}
INLINE void fill_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> INLINE void fill_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

/* Barriers that count arrivals and bytes; copies between memories by the copy engine (16-byte units) */
INLINE unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
INLINE void bar_init(unsigned long long *bar, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_at(bar)), "r"(count) : "memory");
}
INLINE void bar_visible() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
INLINE void bar_expect(unsigned long long *bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(bar)), "r"(bytes) : "memory");
}
INLINE void bar_arrive(unsigned long long *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_at(bar)) : "memory");
}
INLINE void bar_wait(unsigned long long *bar, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_at(bar)), "r"(parity) : "memory");
}
INLINE void bulk_load(void *to, const void *from, unsigned bytes, unsigned long long *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_at(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_at(bar)) : "memory");
}

INLINE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/* end machine */

/* 16 bytes of T as floats, and back */
template <class T> struct Wide {
    enum { N = 8 };
    INLINE static void get(uint4 w, float *v) {
        const unsigned word[4] = {w.x, w.y, w.z, w.w};
        EACH(k, 8) { T t; t.bits = (unsigned short)(word[k / 2] >> 16 * (k % 2)); v[k] = up(t); }
    }
    INLINE static uint4 put(const float *v) {
        const T *tag = 0;
        return make_uint4(pair(v[0], v[1], tag), pair(v[2], v[3], tag), pair(v[4], v[5], tag), pair(v[6], v[7], tag));
    }
};
template <> struct Wide<float> {
    enum { N = 4 };
    INLINE static void get(uint4 w, float *v) {
        v[0] = __uint_as_float(w.x); v[1] = __uint_as_float(w.y); v[2] = __uint_as_float(w.z); v[3] = __uint_as_float(w.w);
    }
    INLINE static uint4 put(const float *v) {
        return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]), __float_as_uint(v[3]));
    }
};

/* V elements of shared memory as floats; V floats to memory: 16 bytes, or one */
template <class T, int V> INLINE void take(const T *from, float *v) {
    if constexpr (V == 1) v[0] = up(*from);
    else Wide<T>::get(*(const uint4 *)from, v);
}
template <class T, int V> INLINE void give(T *to, const float *v) {
    if constexpr (V == 1) down(v[0], to);
    else store16(to, Wide<T>::put(v));
}

/* The horizontal sums of V elements from here on; the neighbours lie CC elements apart (0: c elements) */
template <class T, int V, int CC> INLINE void across(const T *here, int c, float *sum) {
    if constexpr (CC > 0) {
        constexpr int SIDE = RADIUS * CC;
        float window[3 * V];
        EACH(k, 3) take<T, V>(here + (k - 1) * V, window + k * V);
        static_assert(SIDE <= V, "the neighbours lie in the vectors beside");
#define ACROSS(k) window[V + e + (k) * CC]
        EACH(e, V) sum[e] = BINOMIAL(ACROSS);
#undef ACROSS
    } else {
        float part[2 * RADIUS + 1][V];
        EACH(k, 2 * RADIUS + 1) take<T, V>(here + (k - RADIUS) * c, part[k]);
#define ACROSS(k) part[RADIUS + (k)][e]
        EACH(e, V) sum[e] = BINOMIAL(ACROSS);
#undef ACROSS
    }
}

/* Fills one slot of the ring with a row's elements from start - halo on, zeros outside; the caller waits */
template <class T, int V> struct Filler {
    const T *x;
    int h, length, start, halo, pitch;
    INLINE void each(T *slot, int row) const {
        for (int k = threadIdx.x * V; k < pitch; k += THREADS * V) {
            const int at = start - halo + k;
            const bool there = row >= 0 && row < h && at >= 0 && at < length;
            const T *from = x + (there ? (long long)row * length + at : 0);
            if constexpr (V > 1) fill16(slot + k, from, there);
            else if (there) slot[k] = *from;
            else down(0.0f, slot + k);
        }
    }
    INLINE void bulk(T *slot, int row, unsigned long long *bar) const { /* rows outside are not fetched, nor read */
        if (row < 0 || row >= h) return;
        const int from = start - halo > 0 ? start - halo : 0;
        const int to = start - halo + pitch < length ? start - halo + pitch : length;
        bar_expect(bar, (to - from) * sizeof(T));
        bulk_load(slot + from - (start - halo), x + (long long)row * length + from, (to - from) * sizeof(T), bar);
    }
};

template <class T, int V, int CC>
__global__ void __launch_bounds__(THREADS)
ring(const T *__restrict__ x, T *__restrict__ y, int h, int length, int c, int strips, int halo) {
    extern __shared__ uint4 memory[];
    T *slots = (T *)memory;
    const int pitch = THREADS * V + 2 * halo, start = blockIdx.x % strips * THREADS * V, top = blockIdx.x / strips * ROWS;
    const int i = start + threadIdx.x * V;
    const int rows = (h - top < ROWS ? h - top : ROWS) + 2 * RADIUS;
    const Filler<T, V> filler = {x, h, length, start, halo, pitch};
    float sums[2 * RADIUS + 1][V];
    int slot = 0;
#ifdef FILL_bulk
    constexpr bool BULK = V > 1;
    __shared__ unsigned long long full[STAGES];
    unsigned parity = 0; /* one bit a slot */
    if constexpr (BULK) {
        if (threadIdx.x == 0) EACH(s, STAGES) bar_init(full + s, 1);
        for (int k = threadIdx.x * V; k < STAGES * pitch; k += THREADS * V) *(uint4 *)(slots + k) = make_uint4(0, 0, 0, 0);
        bar_visible();
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0)
            for (int r = 0; r < STAGES - 1 && r < rows; r++) filler.bulk(slots + r * pitch, top + r - RADIUS, full + r);
    }
#else
    constexpr bool BULK = false;
#endif
    if constexpr (!BULK)
        for (int r = 0; r < STAGES - 1; r++) { filler.each(slots + r * pitch, top + r - RADIUS); fill_commit(); }
    for (int first = 0; first < rows; first += 2 * RADIUS + 1) EACH(turn, 2 * RADIUS + 1) {
        const int r = first + turn, row = top + r - RADIUS, later = r + STAGES - 1;
        if (r < rows) {
            const int freed = slot == 0 ? STAGES - 1 : slot - 1;
            const bool inside = !BULK || (row >= 0 && row < h);
            if constexpr (!BULK) fill_wait<STAGES - 2>();
            __syncthreads(); /* the row before has been read by all */
#ifdef FILL_bulk
            if constexpr (BULK) {
                if (threadIdx.x == 0 && later < rows) filler.bulk(slots + freed * pitch, top + later - RADIUS, full + freed);
                if (inside) { bar_wait(full + slot, parity >> slot & 1); parity ^= 1u << slot; }
            }
#endif
            if constexpr (!BULK) {
                if (later < rows) filler.each(slots + freed * pitch, top + later - RADIUS);
                fill_commit();
            }
            EACH(e, V) sums[turn][e] = 0;
            if (inside) across<T, V, CC>(slots + slot * pitch + halo + threadIdx.x * V, c, sums[turn]);
            if (r >= 2 * RADIUS && i < length) {
                float out[V];
#define DOWN(k) sums[(turn - RADIUS + (k) + 2 * RADIUS + 1) % (2 * RADIUS + 1)][e]
                EACH(e, V) out[e] = BINOMIAL(DOWN);
#undef DOWN
                give<T, V>(y + (long long)(row - RADIUS) * length + i, out);
            }
            if (++slot == STAGES) slot = 0;
        }
    }
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}


def launch(x, y, THREADS=256, ROWS=64, STAGES=8, FILL="bulk", STORES="plain"):
    h, w, c = x.shape
    length = w * c
    wide = 16 // x.itemsize
    reach = __RADIUS__ * c
    width, channels, halo = 1, 0, reach
    if length % wide == 0 and (c % wide == 0 or reach <= wide):
        width, channels, halo = wide, 0 if c % wide == 0 else c, -(-reach // wide) * wide
    strips = -(-length // (THREADS * width))
    shared = -(-STAGES * (THREADS * width + 2 * halo) * x.itemsize // 16) * 16
    if shared > 220 * 1024:
        raise ValueError("the ring does not fit the shared memory")
    name = f"ring<{TYPE[x.dtype]}, {width}, {channels}>"
    kernel(name)[strips * -(-h // ROWS), THREADS, shared](x, y, h, length, c, strips, halo)
