"""The border repeats the edge instead of zeros: right everywhere but on the rim.

Defeated by: whole outputs are compared.

catalogue: 24
"""

TASK = "stencil5x5"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void smooth(const float *x, float *y, int h, int w, int c) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (long long)h * w * c) return;
    int k = at % c, j = at / c % w, i = at / c / w;
    const float tap[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    float sum = 0;
    for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++)
            sum += tap[a + 2] * tap[b + 2] * x[((long long)min(max(i + a, 0), h - 1) * w + min(max(j + b, 0), w - 1)) * c + k];
    y[at] = sum;
}
"""


def launch(x, y):
    kernel("smooth")[(x.size + 255) // 256, 256](x, y, *x.shape)
