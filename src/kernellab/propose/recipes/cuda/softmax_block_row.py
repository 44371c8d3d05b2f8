"""Row softmax, one block a row, the row in registers, one exchange between the warps.

Hypothesis: each warp takes exponentials relative to its own maximum, so that maxima and sums cross the block in one
exchange instead of two, and the row is read and written once in 16-byte accesses: the time of a copy. A persistent grid
that loads the next row before it reduces this one hides the barrier. Refuted if a maximum first and a sum after it (two
barriers) is as fast, or if one row a block without the walk is.
"""

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "THREADS": [256, 128, 512, 1024],
    "EXCHANGE": ["one", "two"],
    "BLOCKS": [0, 4, 8],
    "LOADS": ["stream", "plain", "evict_first"],
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

INLINE unsigned pair(float low, float high, const bf16 *) {
    unsigned r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r;
}
INLINE unsigned pair(float low, float high, const f16 *) {
    unsigned r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r;
}

INLINE float ex2(float v) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }

INLINE uint4 load16(const void *p) {
    uint4 v;
#if defined(LOADS_stream)
    asm("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
#elif defined(LOADS_evict_first)
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p), "l"(policy));
#else
    asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
#endif
    return v;
}

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

#define LOG2E 1.44269504f
#define LOWEST -3.0e38f /* finite: no difference of infinities, and exp2 of a distance to it is 0 */
INLINE float warp_max(float v) { EACH(k, 5) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 16 >> k)); return v; }
INLINE float warp_sum(float v) { EACH(k, 5) v += __shfl_xor_sync(0xffffffffu, v, 16 >> k); return v; }

/* The first count (fewer than 16 bytes) elements at p, packed as a 16-byte load would give them */
template <class T> INLINE uint4 gather(const T *p, int count) {
    unsigned word[4] = {0, 0, 0, 0};
    EACH(k, Wide<T>::N - 1) if (k < count) {
        const unsigned bits = sizeof(T) == 2 ? ((const unsigned short *)p)[k] : ((const unsigned *)p)[k];
        word[k * sizeof(T) / 4] |= bits << (8 * (k * sizeof(T) % 4));
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

#define NOTHING __uint_as_float(0xff800000u) /* -inf */

/* A row as the aligned 16-byte vectors that touch it: where it lies in the first of them, and its end, in elements.
   FIT: 0 every vector of every lane is in the row, 1 whole vectors make the row, 2 rows start anywhere. */
template <class T, int FIT> struct Row {
    static constexpr bool SKEWED = FIT == 2;
    long long from;
    int skew, end;
    long long room; /* elements from here to the end of the buffer */
    INLINE Row(long long row, long long m, int n) {
        const long long at = row * n;
        skew = SKEWED ? (int)(at & (Wide<T>::N - 1)) : 0;
        from = at - skew;
        end = skew + n;
        room = m * n - from;
    }
    template <int PER, int STRIDE> INLINE void load(const T *x, int lane, uint4 *raw) const {
        constexpr int V = Wide<T>::N;
        const T *base = x + from;
        EACH(k, PER) {
            const int i = (lane + STRIDE * k) * V;
            raw[k] = make_uint4(0, 0, 0, 0);
            if (FIT == 0 || (i < end && (!SKEWED || i + V <= room))) raw[k] = load16(base + lane * V + STRIDE * V * k);
        }
        if (SKEWED && end == room && room % V) { /* the buffer ends inside the row's last vector */
            const int last = (int)(room / V);
            uint4 rest = make_uint4(0, 0, 0, 0);
            if (last % STRIDE == lane) rest = gather(base + last * V, (int)(room % V));
            EACH(k, PER) { /* what is not loaded is 0: no choice by index, which would move the array to memory */
                const unsigned mine = lane + STRIDE * k == last ? ~0u : 0u;
                raw[k].x |= rest.x & mine; raw[k].y |= rest.y & mine; raw[k].z |= rest.z & mine; raw[k].w |= rest.w & mine;
            }
        }
    }
    template <int PER, int STRIDE> INLINE float open(const uint4 *raw, int lane, float *v) const {
        constexpr int V = Wide<T>::N;
        float top = LOWEST;
        EACH(k, PER) {
            const int i = (lane + STRIDE * k) * V;
            Wide<T>::get(raw[k], v + k * V);
            EACH(e, V) {
                if (SKEWED ? i + e < skew || i + e >= end : FIT && i >= end) v[k * V + e] = NOTHING;
                top = fmaxf(top, v[k * V + e]);
            }
        }
        return top;
    }
    template <int PER, int STRIDE> INLINE void store(T *y, int lane, float factor, float *v) const {
        constexpr int V = Wide<T>::N;
        EACH(k, PER) {
            const int i = (lane + STRIDE * k) * V;
            T *to = y + from + lane * V + STRIDE * V * k;
            EACH(e, V) v[k * V + e] *= factor;
            if (FIT == 0 || (i >= skew && (SKEWED ? i + V <= end : i < end))) store16(to, Wide<T>::put(v + k * V));
            else if (SKEWED) EACH(e, V) if (i + e >= skew && i + e < end) down(v[k * V + e], to + e);
        }
    }
};

/* Rows too long for registers: running maximum and sum, then the row again. One block a row. */
template <class T> __global__ void softmax_long(const T *__restrict__ x, T *__restrict__ y, int n) {
    __shared__ float tops[32], sums[32];
    const T *in = x + (long long)blockIdx.x * n;
    T *out = y + (long long)blockIdx.x * n;
    const int warps = blockDim.x / 32;
    float top = LOWEST, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float v = up(in[i]), higher = fmaxf(top, v);
        sum = sum * ex2((top - higher) * LOG2E) + ex2((v - higher) * LOG2E);
        top = higher;
    }
    float high = warp_max(top);
    sum = warp_sum(sum * ex2((top - high) * LOG2E));
    if (threadIdx.x % 32 == 0) { tops[threadIdx.x / 32] = high; sums[threadIdx.x / 32] = sum; }
    __syncthreads();
    high = LOWEST;
    for (int k = 0; k < warps; k++) high = fmaxf(high, tops[k]);
    sum = 0;
    for (int k = 0; k < warps; k++) sum += sums[k] * ex2((tops[k] - high) * LOG2E);
    const float inverse = 1.0f / sum;
    for (int i = threadIdx.x; i < n; i += blockDim.x) down(ex2((up(in[i]) - high) * LOG2E) * inverse, out + i);
}

/* The exponentials of the thread's elements and the factor that normalises them; parity keeps one row's slots from the next's */
template <int COUNT> INLINE float normaliser(float *v, float top, int parity) {
    __shared__ float tops[2][32], sums[2][32];
    const int warp = threadIdx.x / 32;
    float sum = 0, high, total = 0;
    top = warp_max(top);
#ifdef EXCHANGE_one
    EACH(k, COUNT) { v[k] = ex2((v[k] - top) * LOG2E); sum += v[k]; }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) { tops[parity][warp] = top; sums[parity][warp] = sum; }
    __syncthreads();
    high = tops[parity][threadIdx.x % (THREADS / 32)];
    total = sums[parity][threadIdx.x % (THREADS / 32)];
    sum = high;
    for (int k = THREADS / 64; k; k /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, k));
    total *= ex2((sum - high) * LOG2E);
    for (int k = THREADS / 64; k; k /= 2) total += __shfl_xor_sync(0xffffffffu, total, k);
    return ex2((top - high) * LOG2E) / total;
#else
    if (threadIdx.x % 32 == 0) tops[parity][warp] = top;
    __syncthreads();
    high = tops[parity][0];
    EACH(k, THREADS / 32) high = fmaxf(high, tops[parity][k]);
    EACH(k, COUNT) { v[k] = ex2((v[k] - high) * LOG2E); sum += v[k]; }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[parity][warp] = sum;
    __syncthreads();
    EACH(k, THREADS / 32) total += sums[parity][k];
    return 1.0f / total;
#endif
}

template <class T, int PER, int FIT>
__global__ void __launch_bounds__(THREADS)
softmax_row(const T *__restrict__ x, T *__restrict__ y, long long m, int n) {
    constexpr int V = Wide<T>::N;
    uint4 raw[PER];
    float v[PER * V];
    long long at = blockIdx.x;
    Row<T, FIT>(at, m, n).template load<PER, THREADS>(x, threadIdx.x, raw);
#if BLOCKS == 0
    const Row<T, FIT> row(at, m, n);
    const float top = row.template open<PER, THREADS>(raw, threadIdx.x, v);
    row.template store<PER, THREADS>(y, threadIdx.x, normaliser<PER * V>(v, top, 0), v);
#else
    for (int parity = 0; at < m; parity ^= 1) {
        const Row<T, FIT> row(at, m, n);
        const float top = row.template open<PER, THREADS>(raw, threadIdx.x, v);
        at += gridDim.x;
        if (at < m) Row<T, FIT>(at, m, n).template load<PER, THREADS>(x, threadIdx.x, raw);
        row.template store<PER, THREADS>(y, threadIdx.x, normaliser<PER * V>(v, top, parity), v);
    }
#endif
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}
PROCESSORS = 132


def launch(x, y, THREADS=256, EXCHANGE="one", BLOCKS=0, LOADS="stream", STORES="plain"):
    m, n = x.shape
    if THREADS * BLOCKS > 2048:
        raise ValueError("a multiprocessor holds 2048 threads")
    wide = 16 // x.itemsize
    skewed = n % wide != 0
    vectors = -(-(n + (wide - 1 if skewed else 0)) // wide)
    per = -(-vectors // THREADS)
    if per * wide > 64:
        kernel(f"softmax_long<{TYPE[x.dtype]}>")[m, THREADS](x, y, n)
        return
    grid = min(m, PROCESSORS * BLOCKS) if BLOCKS else m
    fit = 2 if skewed else int(n != THREADS * per * wide)
    kernel(f"softmax_row<{TYPE[x.dtype]}, {per}, {fit}>")[grid, THREADS](x, y, m, n)
