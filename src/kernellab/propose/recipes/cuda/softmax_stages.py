"""Row softmax, a persistent grid fed and emptied by the copy engine.

Hypothesis: one thread keeps several stages of shared memory filling and draining while the other warps only compute, so
memory never waits for arithmetic, for a block's start or for its end; rows of any alignment travel in runs that start on
16 bytes. Refuted if many small blocks with plain loads come as close to a copy: then the hardware's own switching
between blocks hides as much.
"""

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "BYTES": [16384, 8192, 32768],
    "STAGES": [3, 4, 2, 6],
    "WARPS": [8, 4, 16],
    "BLOCKS": [2, 1, 3, 4],
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

INLINE void group_wait(int group, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(threads) : "memory"); }
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

/* The run of rows that is this block's t-th; whole: elements in 16-byte units, all of them but for the last run's end */
struct Run {
    long long from;
    int rows, count, whole;
    INLINE Run(long long index, long long m, int n, int height, int unit) {
        from = index * height * n;
        rows = (int)(m - index * height < height ? m - index * height : height);
        count = rows * n;
        whole = count / unit * unit;
    }
};

/* One row by GROUP warps, in place; parity keeps one row's slots from the next's */
template <class T, int W, int PER, int GROUP>
INLINE void one_row(T *row, int n, int thread, int group, int parity, float (*tops)[WARPS], float (*sums)[WARPS]) {
    float v[PER][W], top = LOWEST, sum = 0;
    EACH(k, PER) {
        const int i = (thread + 32 * GROUP * k) * W;
        EACH(e, W) v[k][e] = NOTHING;
        if (i < n) take<T, W>(row + i, v[k]);
        EACH(e, W) top = fmaxf(top, v[k][e]);
    }
    top = warp_max(top);
    EACH(k, PER) EACH(e, W) { v[k][e] = ex2((v[k][e] - top) * LOG2E); sum += v[k][e]; }
    sum = warp_sum(sum);
    float factor = 1.0f / sum;
    if constexpr (GROUP > 1) {
        float *const high = tops[parity] + group * GROUP, *const part = sums[parity] + group * GROUP;
        if (thread % 32 == 0) { high[thread / 32] = top; part[thread / 32] = sum; }
        group_wait(group, 32 * GROUP);
        float highest = high[0], total = 0;
        EACH(k, GROUP) highest = fmaxf(highest, high[k]);
        EACH(k, GROUP) total += part[k] * ex2((high[k] - highest) * LOG2E);
        factor = ex2((top - highest) * LOG2E) / total;
    }
    EACH(k, PER) {
        const int i = (thread + 32 * GROUP * k) * W;
        EACH(e, W) v[k][e] *= factor;
        if (i < n) give<T, W>(row + i, v[k]);
    }
}

/* The feeding thread: fills every stage, then empties and refills each as the other warps are done with it */
template <class T> INLINE void feed(const T *x, T *y, T *stages, int pitch, unsigned long long *full, unsigned long long *done,
                                    long long m, int n, int height) {
    constexpr int V = Wide<T>::N;
    const long long runs = (m + height - 1) / height;
    long long next = blockIdx.x;
    for (int t = 0;; t++) {
        const int s = t % STAGES;
        T *stage = stages + (long long)s * pitch;
        if (t >= STAGES) {
            const long long index = blockIdx.x + (long long)(t - STAGES) * gridDim.x;
            if (index >= runs) break;
            const Run old(index, m, n, height, V);
            bar_wait(done + s, (t / STAGES - 1) & 1);
            if (old.whole) bulk_store(y + old.from, stage, old.whole * sizeof(T));
            for (int i = old.whole; i < old.count; i++) y[old.from + i] = stage[i];
            bulk_was_read();
        }
        if (next < runs) {
            const Run run(next, m, n, height, V);
            for (int i = run.whole; i < run.count; i++) stage[i] = x[run.from + i];
            bar_expect(full + s, run.whole * sizeof(T));
            if (run.whole) bulk_load(stage, x + run.from, run.whole * sizeof(T), full + s);
            next += gridDim.x;
        }
    }
    bulk_finished();
}

template <class T, int W, int PER, int GROUP>
__global__ void __launch_bounds__(WARPS * 32 + 32)
softmax_stages(const T *__restrict__ x, T *__restrict__ y, long long m, int n, int height, int pitch) {
    extern __shared__ uint4 memory[];
    __shared__ unsigned long long full[STAGES], done[STAGES];
    __shared__ float tops[2][WARPS], sums[2][WARPS];
    T *stages = (T *)memory;
    if (threadIdx.x == 0) {
        EACH(s, STAGES) { bar_init(full + s, 1); bar_init(done + s, WARPS * 32); }
        bar_visible();
        fence_async();
    }
    __syncthreads();
    if (threadIdx.x >= WARPS * 32) {
        if (threadIdx.x == WARPS * 32) feed<T>(x, y, stages, pitch, full, done, m, n, height);
        return;
    }
    const long long runs = (m + height - 1) / height;
    const int group = threadIdx.x / (32 * GROUP), thread = threadIdx.x % (32 * GROUP);
    int parity = 0, s = 0, round = 0;
    for (long long index = blockIdx.x; index < runs; index += gridDim.x) {
        const Run run(index, m, n, height, Wide<T>::N);
        bar_wait(full + s, round);
        for (int r = group; r < run.rows; r += WARPS / GROUP) {
            one_row<T, W, PER, GROUP>(stages + (long long)s * pitch + r * n, n, thread, group, parity, tops, sums);
            parity ^= 1;
        }
        fence_async();
        bar_arrive(done + s);
        if (++s == STAGES) { s = 0; round ^= 1; }
    }
}
"""

TYPE = {"float32": "float", "bfloat16": "bf16", "float16": "f16"}
PROCESSORS = 132


def launch(x, y, BYTES=16384, STAGES=3, WARPS=8, BLOCKS=2):
    if BYTES * STAGES * BLOCKS > 220 * 1024:
        raise ValueError("the stages do not fit a multiprocessor's shared memory")
    if (WARPS + 1) * BLOCKS > 64:
        raise ValueError("a multiprocessor holds 64 warps")
    m, n = x.shape
    wide = 16 // x.itemsize
    width = 1 if n % wide else wide
    step = 1 if width > 1 else wide
    height = max(1, BYTES // (n * x.itemsize) // step) * step
    group = 1
    while group < WARPS and -(-n // (32 * group * width)) * width > (32 if width > 1 else 26):
        group *= 2
    per = -(-n // (32 * group * width))
    pitch = -(-height * n // wide) * wide
    if per * width > 64 or pitch * x.itemsize * STAGES > 220 * 1024:
        kernel(f"softmax_long<{TYPE[x.dtype]}>")[m, WARPS * 32](x, y, n)
        return
    grid = min(-(-m // height), PROCESSORS * BLOCKS)
    name = f"softmax_stages<{TYPE[x.dtype]}, {width}, {per}, {group}>"
    kernel(name)[grid, WARPS * 32 + 32, pitch * x.itemsize * STAGES](x, y, m, n, height, pitch)
