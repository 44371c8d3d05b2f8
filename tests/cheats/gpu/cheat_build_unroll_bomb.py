"""A loop of 65536 steps unrolled four times over: minutes in the assembler.

Defeated by: a time-out on the compiler.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
STAGE = "build"
SOURCE = r"""
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    float v = x[threadIdx.x];
#pragma unroll
    for (int a = 0; a < 256; a++) {
#pragma unroll
        for (int b = 0; b < 256; b++) {
#pragma unroll
            for (int c = 0; c < 64; c++) v = sinf(v) * x[a + b * c] + cosf(v * a);
        }
    }
    y[threadIdx.x] = v;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
