"""Binomial __SIZE__x__SIZE__ smoothing, every thread marches down a column of 16-byte vectors.

Hypothesis: with the horizontal sums of the last __SIZE__ rows in registers each input row is fetched once a band, the
neighbours across come from the L1 cache or from the lanes beside, and the rows ahead are already on their way: the time
of a copy and the rows that two bands share. No barrier, no shared memory. Refuted if a ring of rows in shared memory,
filled by asynchronous copies, is faster: then registers do not hold enough bytes in flight.
"""

VARIANTS = {
    "stencil3x3": {
        "SIZE": "3",
        "DOUBLE": "6",
        "RADIUS": "1",
        "BINOMIAL": "#define BINOMIAL(AT) (0.5f * AT(0) + 0.25f * (AT(-1) + AT(1)))",
    },
    "stencil5x5": {
        "SIZE": "5",
        "DOUBLE": "10",
        "RADIUS": "2",
        "BINOMIAL": "#define BINOMIAL(AT) (0.375f * AT(0) + (0.25f * (AT(-1) + AT(1)) + 0.0625f * (AT(-2) + AT(2))))",
    },
}
TASKS = ("stencil__SIZE__x__SIZE__", "stencil__SIZE__x__SIZE___bf16", "stencil__SIZE__x__SIZE___f16")
SPACE = {
    "THREADS": [128, 256, 64],
    "ROWS": [32, 16, 8, 64],
    "AHEAD": [__SIZE__, __DOUBLE__],
    "SIDES": ["shuffle", "reload"],
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

INLINE uint4 cached16(const void *p) { return __ldg((const uint4 *)p); }

#ifdef STORES_stream
#define WRITE "st.global.cs.v4.b32"
#else
#define WRITE "st.global.v4.b32"
#endif
INLINE void store16(void *p, uint4 v) { /* by name: four stores beside a branch of single ones are not joined again */
    asm volatile(WRITE " [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}
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

/* V elements as floats, and back: 16 bytes, or one */
template <class T, int V> INLINE void take(const T *from, float *v) {
    if constexpr (V == 1) v[0] = up(*from);
    else Wide<T>::get(cached16(from), v);
}
template <class T, int V> INLINE void give(T *to, const float *v) {
    if constexpr (V == 1) down(v[0], to);
    else store16(to, Wide<T>::put(v));
}

/* The horizontal sums of V elements at i of a row. CC > 0: CC channels known at compile time, RADIUS * CC <= V, so that
   the neighbours lie in the vectors beside; CC == 0: they are whole vectors (or single elements) c away. */
template <class T, int V, int CC> INLINE void across(const T *row, int i, int length, int c, const float *own, float *sum) {
    if constexpr (CC > 0) {
        constexpr int SIDE = RADIUS * CC;
        float window[SIDE + V + SIDE];
        EACH(e, V) window[SIDE + e] = own[e];
#ifdef SIDES_shuffle
        const int lane = threadIdx.x % 32;
        EACH(e, SIDE) {
            window[e] = __shfl_up_sync(0xffffffffu, own[V - SIDE + e], 1);
            window[SIDE + V + e] = __shfl_down_sync(0xffffffffu, own[e], 1);
        }
        if (lane == 0) EACH(e, SIDE) window[e] = row && i > 0 && i < length ? up(row[i - SIDE + e]) : 0.0f;
        if (lane == 31) EACH(e, SIDE) window[SIDE + V + e] = row && i + V < length ? up(row[i + V + e]) : 0.0f;
#else
        float beside[V];
        EACH(e, V) beside[e] = 0;
        if (row && i > 0 && i < length) take<T, V>(row + i - V, beside);
        EACH(e, SIDE) window[e] = beside[V - SIDE + e];
        EACH(e, V) beside[e] = 0;
        if (row && i + V < length) take<T, V>(row + i + V, beside);
        EACH(e, SIDE) window[SIDE + V + e] = beside[e];
#endif
#define ACROSS(k) window[SIDE + e + (k) * CC]
        EACH(e, V) sum[e] = BINOMIAL(ACROSS);
#undef ACROSS
    } else {
        float part[2 * RADIUS + 1][V];
        EACH(k, 2 * RADIUS + 1) {
            const int at = i + (k - RADIUS) * c;
            EACH(e, V) part[k][e] = k == RADIUS ? own[e] : 0.0f;
            if (k != RADIUS && row && at >= 0 && at < length) take<T, V>(row + at, part[k]);
        }
#define ACROSS(k) part[RADIUS + (k)][e]
        EACH(e, V) sum[e] = BINOMIAL(ACROSS);
#undef ACROSS
    }
}

/* V elements on their way, packed as they lie in memory */
template <class T, int V> struct Raw {
    uint4 bits;
    INLINE void fetch(const T *from, bool there) { bits = make_uint4(0, 0, 0, 0); if (there) bits = cached16(from); }
    INLINE void open(float *v) const { Wide<T>::get(bits, v); }
};
template <class T> struct Raw<T, 1> {
    float bits;
    INLINE void fetch(const T *from, bool there) { bits = 0; if (there) bits = up(*from); }
    INLINE void open(float *v) const { v[0] = bits; }
};

template <class T, int V, int CC>
__global__ void __launch_bounds__(THREADS) columns(const T *__restrict__ x, T *__restrict__ y, int h, int length, int c, int strips) {
    const int i = (blockIdx.x % strips * THREADS + threadIdx.x) * V, top = blockIdx.x / strips * ROWS;
    const int rows = (h - top < ROWS ? h - top : ROWS) + 2 * RADIUS;
    static_assert(AHEAD % (2 * RADIUS + 1) == 0, "the rings of rows ahead and of sums turn together");
    Raw<T, V> ahead[AHEAD];
    float sums[2 * RADIUS + 1][V];
    EACH(r, AHEAD) {
        const int row = top + r - RADIUS;
        ahead[r].fetch(x + (long long)row * length + i, row >= 0 && row < h && i < length);
    }
    for (int first = 0; first < rows; first += AHEAD) EACH(turn, AHEAD) {
        const int r = first + turn, row = top + r - RADIUS, next = row + AHEAD;
        if (r < rows) {
            float own[V];
            ahead[turn].open(own);
            ahead[turn].fetch(x + (long long)next * length + i, r + AHEAD < rows && next >= 0 && next < h && i < length);
            across<T, V, CC>(row >= 0 && row < h ? x + (long long)row * length : 0, i, length, c, own, sums[turn % (2 * RADIUS + 1)]);
            if (r >= 2 * RADIUS && i < length) {
                float out[V];
#define DOWN(k) sums[(turn - RADIUS + (k) + 2 * RADIUS + 1) % (2 * RADIUS + 1)][e]
                EACH(e, V) out[e] = BINOMIAL(DOWN);
#undef DOWN
                give<T, V>(y + (long long)(row - RADIUS) * length + i, out);
            }
        }
    }
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}


def launch(x, y, THREADS=128, ROWS=32, AHEAD=__SIZE__, SIDES="shuffle", STORES="plain"):
    h, w, c = x.shape
    length = w * c
    wide = 16 // x.itemsize
    width, channels = 1, 0
    if length % wide == 0 and c % wide == 0:
        width = wide
    elif length % wide == 0 and __RADIUS__ * c <= wide:
        width, channels = wide, c
    strips = -(-length // (THREADS * width))
    name = f"columns<{TYPE[x.dtype]}, {width}, {channels}>"
    kernel(name)[strips * -(-h // ROWS), THREADS](x, y, h, length, c, strips)
