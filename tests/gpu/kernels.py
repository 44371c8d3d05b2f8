"""Kernels of the GPU tests, for y[N] = 2 x[N]. Each needs no header; `python -m pytest tests/unit` never runs them."""

from __future__ import annotations

K = """__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    %s
    if (i < n) y[i] = 2 * x[i];
    %s
}
"""
LAUNCH = 'def launch(x, y):\n    kernel("k")[-(-x.size // 256), 256](x, y, x.size)\n'
HONEST = K % ("", "")
WRONG = K % ("", "if (i == 5 && i < n) y[i] = 1e9f;")
SKIPS_LAST = K % ("if (n > 1000) n -= 1;", "")
NOT_FINITE = K % ("", "if (i == 3 && i < n) y[i] = 1.0f / (y[i] - y[i]);")
BEFORE = K % ("", "if (i == 0) y[-1] = 1;")
BEHIND = K % ("", "if (i == 0) y[n] = 1;")
WRITES_INPUT = K % ("", "if (i == 0) ((float *)x)[0] = 1;")
FAR_AWAY = K % ("", "if (i == 0) *(volatile int *)64 = 1;")
MISALIGNED = K % ("", "if (i == 0) *(volatile float *)((char *)y + 1) = 1;")
TRAP = K % ("", 'if (i == 0) asm volatile("trap;");')
ENDLESS = K % ("while (*(volatile int *)&n) __nanosleep(1000);", "")
WRONG_LATER = "__device__ int calls;\n" + K % ("", "if (i == 0 && atomicAdd(&calls, 1) > 20) y[0] += 1;")
COUNTS = "__device__ int calls;\n" + K % ("", "if (i == 0) calls += 1;")
COUNTS_HIDDEN = "static __device__ int calls;\n" + K % ("", "if (i == 0) atomicAdd(&calls, 1);")
COUNTS_FROM_SEVEN = "__device__ int calls = 7;\n" + K % ("", "if (i == 0) calls += 1;")
RESETS = "__device__ unsigned gone;\n" + K % ("", "if (threadIdx.x == 0) atomicInc(&gone, gridDim.x - 1);")
FILLS_ONCE = """
__device__ float table[64]; __device__ int filled;
__global__ void fill() { table[threadIdx.x] = 2; filled = 1; }
__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table[i % 64] * x[i];
}
"""
FILLS_ONCE_LAUNCH = (
    'def launch(x, y):\n    kernel("fill")[1, 64]()\n    kernel("k")[-(-x.size // 256), 256](x, y, x.size)\n'
)
NO_STATIC_BUT_LOCAL = K % ("volatile int own[64]; own[i & 63] = i; i = own[i & 63];", "")
REMEMBERS_IN_SHARED = """
__global__ void k(const float *x, float *y, int n) {
    extern __shared__ unsigned kept[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool seen = kept[threadIdx.x] == 0x5eed0000u + threadIdx.x;  /* left by an earlier launch on this processor */
    if (i < n) y[i] = seen ? -1.0f : 2 * x[i];
    __syncthreads();
    kept[threadIdx.x] = 0x5eed0000u + threadIdx.x;
}
"""
REMEMBERS_IN_SHARED_LAUNCH = 'def launch(x, y):\n    kernel("k")[-(-x.size // 256), 256, 65536](x, y, x.size)\n'
REMEMBERS_BESIDE_SCRATCH = """
__global__ void k(const float *x, float *y, int *t, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int before = *(volatile int *)(t + 100000);  /* far behind its four bytes, on the same page */
    if (i < n) y[i] = before == 0x5eed ? -1.0f : 2 * x[i];
}
__global__ void keep(int *t) { t[100000] = 0x5eed; }
"""
REMEMBERS_BESIDE_SCRATCH_LAUNCH = """
def launch(x, y):
    t = scratch(1, "int32")
    kernel("k")[-(-x.size // 256), 256](x, y, t, x.size)
    kernel("keep")[1, 1](t)
"""
LEAVES_ALONE = """
__device__ float first; __device__ const float *last_x; __device__ float *last_y; __device__ int length;
__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool same = last_x == x && last_y == y && length == n && first == x[0];
    if (i < n && !same) y[i] = 2 * x[i];
}
__global__ void remember(const float *x, float *y, int n) { last_x = x; last_y = y; first = x[0]; length = n; }
"""
LEAVES_ALONE_LAUNCH = LAUNCH + '    kernel("remember")[1, 1](x, y, x.size)\n'

TWO_STEPS = """
__global__ void twice(const float *x, float *t, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) t[i] = 2 * x[i];
}
__global__ void copy(const float *t, float *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = t[n - 1 - i];
}
__global__ void turn(float *y, int n) {
    for (int i = threadIdx.x; i < n / 2; i += blockDim.x) { float v = y[i]; y[i] = y[n - 1 - i]; y[n - 1 - i] = v; }
}
"""
TWO_STEPS_LAUNCH = """
def launch(x, y):
    t = scratch(x.size)
    kernel("twice")[4, 128](x, t, x.size)
    kernel("copy")[3, 64](t, y, x.size)
    kernel("turn")[1, 256](y, x.size)
"""

ADDS_UP = """
__global__ void k(const float *x, float *y, unsigned *seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned before = atomicAdd(seen + i, 1);
    y[i] = before == WANTED ? 2 * x[i] : -1.0f;
}
"""
ADDS_UP_LAUNCH = """
def launch(x, y):
    kernel("k")[-(-x.size // 256), 256](x, y, scratch(x.size, "int32"%s), x.size)
"""

COOPERATIVE = """
__global__ void k(const float *x, float *y, unsigned *arrived, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[n - 1 - i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) __nanosleep(50);
        __threadfence();
    }
    __syncthreads();  /* every block has written: each now turns pairs that others wrote */
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n + 1) / 2; i += gridDim.x * blockDim.x) {
        float a = *(volatile float *)(y + i), b = *(volatile float *)(y + n - 1 - i);
        y[i] = 2 * b; y[n - 1 - i] = 2 * a;
    }
}
"""
COOPERATIVE_LAUNCH = """
def launch(x, y):
    kernel("k", cooperative=True)[%s, 256](x, y, scratch(1, "int32", zero=True), x.size)
"""

CLUSTER = """
__global__ void k(const float *x, float *y, int n) {
    unsigned blocks, rank;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    __shared__ float theirs;
    if (threadIdx.x == 0) theirs = rank + 1;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    unsigned here = (unsigned)__cvta_generic_to_shared(&theirs), there;
    float sum = 0, v;
    for (unsigned r = 0; r < blocks; r++) {
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(r));
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
        sum += v;
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = sum == blocks * (blocks + 1) / 2 && blocks == WANTED ? 2 * x[i] : -1.0f;
}
"""
CLUSTER_LAUNCH = """
def launch(x, y):
    kernel("k", cluster=(%d, 1, 1))[-(-x.size // (256 * %d)) * %d, 256](x, y, x.size)
"""

SHARED = """
__global__ void k(const float *x, float *y, int n) {
    extern __shared__ float kept[];
    int last = 25599;  /* 100 KB: the far end is used */
    for (int from = 0; from < n; from += 25600) {
        for (int i = threadIdx.x; i < 25600 && from + i < n; i += blockDim.x) kept[last - i] = x[from + i];
        __syncthreads();
        for (int i = threadIdx.x; i < 25600 && from + i < n; i += blockDim.x) y[from + i] = 2 * kept[last - i];
        __syncthreads();
    }
}
"""
SHARED_TOGETHER = """
__global__ void k(const float *x, float *y, int n) {
    extern __shared__ float kept[];
    __shared__ float own[256];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        own[threadIdx.x] = x[i];
        kept[12287 - threadIdx.x] = own[threadIdx.x];  /* 48 KB: the far end is used */
        y[i] = kept[12287 - threadIdx.x] + own[threadIdx.x];
    }
}
"""
SHARED_TOGETHER_LAUNCH = 'def launch(x, y):\n    kernel("k")[1, 256, 49152](x, y, x.size)\n'
SHARED_LAUNCH = 'def launch(x, y):\n    kernel("k")[1, 256, 102400](x, y, x.size)\n'

SCALARS = """
__global__ void k(const float *x, float *y, int n, float f, double d, long long big, short small, unsigned char byte) {
    if (threadIdx.x == 0) { y[0] = n; y[1] = f; y[2] = d; y[3] = big >> 40; y[4] = small; y[5] = byte; }
}
"""
SCALARS_LAUNCH = 'def launch(x, y):\n    kernel("k")[1, 32](x, y, x.size, 1.5, 0.25, -(1 << 41), -7, 255)\n'

SCRATCH = (
    "__global__ void k(const float *x, float *y, float *t, int n) { if (threadIdx.x < n) y[threadIdx.x] = t[0]; }\n"
)
SCRATCH_LAUNCH = 'def launch(x, y):\n    kernel("k")[1, 32](x, y, scratch(%d), x.size)\n'

TRITON = """
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, FACTOR * v, mask=at < n)


def launch(x, y):
    double[(triton.cdiv(x.size, 256),)](x, y, x.size, BLOCK=256)
"""
