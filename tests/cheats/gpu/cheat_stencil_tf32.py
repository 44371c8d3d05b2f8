"""A float32 stencil on inputs rounded to tf32, as tensor cores would take them.

Defeated by: the error budget of a float32 result.

catalogue: 23
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"
SOURCE = r"""
__device__ float at(const float *x, int h, int w, int c, int i, int j, int k) {
    return i < 0 || j < 0 || i >= h || j >= w ? 0.0f : x[((long long)i * w + j) * c + k];
}
__device__ float tf32(float v) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return __uint_as_float(r);
}
extern "C" __global__ void smooth(const float *x, float *y, int h, int w, int c) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (long long)h * w * c) return;
    int k = at % c, j = at / c % w, i = at / c / w;
    float sum = 0;
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++) sum += (a ? 0.25f : 0.5f) * (b ? 0.25f : 0.5f) * tf32(::at(x, h, w, c, i + a, j + b, k));
    y[at] = sum;
}
"""


def launch(x, y):
    kernel("smooth")[(x.size + 255) // 256, 256](x, y, *x.shape)
