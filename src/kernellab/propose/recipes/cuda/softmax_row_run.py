"""Row softmax, a block takes a run of rows as one piece of memory, through shared memory.

Hypothesis: eight rows (or sixteen) together start and end on 16 bytes whatever the row length is, so the copy engine can
move the whole run in and out while no thread handles addresses; only the passes over shared memory see odd rows. Two to
eight blocks a multiprocessor overlap one another's loads, arithmetic and stores. Refuted if masked 16-byte accesses
straight into registers are as fast at a row length of 781.
"""

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "ROWS": [8, 16, 32],
    "WARPS": [8, 4, 16],
    "RESULT": ["bulk", "vector"],
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

#ifdef STORES_stream
#define WRITE "st.global.cs.v4.b32"
#else
#define WRITE "st.global.v4.b32"
#endif
INLINE void store16(void *p, uint4 v) { /* by name: four stores beside a branch of single ones are not joined again */
    asm volatile(WRITE " [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}

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

INLINE void bulk_store(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(__cvta_generic_to_global(to)), "r"(shared_at(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
INLINE void bulk_was_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
INLINE void bulk_finished() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

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

#define LOG2E 1.44269504f
#define LOWEST -3.0e38f /* finite: no difference of infinities, and exp2 of a distance to it is 0 */
INLINE float warp_max(float v) { EACH(k, 5) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 16 >> k)); return v; }
INLINE float warp_sum(float v) { EACH(k, 5) v += __shfl_xor_sync(0xffffffffu, v, 16 >> k); return v; }

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

#define NOTHING __uint_as_float(0xff800000u) /* -inf */

/* W elements of shared memory as floats: one at a time, or 16 bytes */
template <class T, int W> INLINE void take(const T *from, float *v) {
    if constexpr (W == 1) v[0] = up(*from);
    else Wide<T>::get(*(const uint4 *)from, v);
}
template <class T, int W> INLINE void give(T *to, const float *v) {
    if constexpr (W == 1) down(v[0], to);
    else *(uint4 *)to = Wide<T>::put(v);
}

/* PER pieces of W elements a lane; ROWS rows of n elements lie in shared memory as they lie in memory */
template <class T, int W, int PER>
__global__ void __launch_bounds__(WARPS * 32) softmax_run(const T *__restrict__ x, T *__restrict__ y, long long m, int n) {
    extern __shared__ uint4 memory[];
    __shared__ unsigned long long arrived;
    T *run = (T *)memory;
    const int lane = threadIdx.x % 32;
    const long long first = (long long)blockIdx.x * ROWS;
    const int rows = (int)(m - first < ROWS ? m - first : ROWS), count = rows * n;
    const int whole = count / Wide<T>::N * Wide<T>::N; /* only the last run of all has a rest */
    x += first * n;
    y += first * n;
    if (threadIdx.x == 0) {
        bar_init(&arrived, 1);
        bar_visible();
        fence_async();
        bar_expect(&arrived, whole * sizeof(T));
        if (whole) bulk_load(run, x, whole * sizeof(T), &arrived);
    }
    if (threadIdx.x < count - whole) run[whole + threadIdx.x] = x[whole + threadIdx.x];
    __syncthreads();
    bar_wait(&arrived, 0);
    for (int r = threadIdx.x / 32; r < rows; r += WARPS) {
        T *row = run + r * n;
        float v[PER][W], top = LOWEST, sum = 0;
        EACH(k, PER) {
            const int i = (lane + 32 * k) * W;
            EACH(e, W) v[k][e] = NOTHING;
            if (i < n) take<T, W>(row + i, v[k]);
            EACH(e, W) top = fmaxf(top, v[k][e]);
        }
        top = warp_max(top);
        EACH(k, PER) EACH(e, W) { v[k][e] = ex2((v[k][e] - top) * LOG2E); sum += v[k][e]; }
        const float inverse = 1.0f / warp_sum(sum);
        EACH(k, PER) {
            const int i = (lane + 32 * k) * W;
            EACH(e, W) v[k][e] *= inverse;
            if (i < n) give<T, W>(row + i, v[k]);
        }
    }
#ifdef RESULT_bulk
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0 && whole) {
        bulk_store(y, run, whole * sizeof(T));
        bulk_was_read();
    }
#else
    __syncthreads();
    for (int i = threadIdx.x * Wide<T>::N; i < whole; i += WARPS * 32 * Wide<T>::N)
        store16(y + i, *(const uint4 *)(run + i));
#endif
    if (threadIdx.x < count - whole) y[whole + threadIdx.x] = run[whole + threadIdx.x];
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}


def launch(x, y, ROWS=8, WARPS=8, RESULT="bulk", STORES="plain"):
    if RESULT == "bulk" and STORES == "stream":
        raise ValueError("the copy engine writes the result: a hint for stores says nothing")
    m, n = x.shape
    wide = 16 // x.itemsize
    width = 1 if n % wide else wide
    per = -(-n // (32 * width))
    run = -(-ROWS * n * x.itemsize // 16) * 16
    if per * width > (128 if width > 1 else 64) or run > 200 * 1024:
        kernel(f"softmax_long<{TYPE[x.dtype]}>")[m, WARPS * 32](x, y, n)
        return
    kernel(f"softmax_run<{TYPE[x.dtype]}, {width}, {per}>")[-(-m // ROWS), WARPS * 32, run](x, y, m, n)
