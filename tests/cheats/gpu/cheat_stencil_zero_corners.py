"""Tiles of 4 x 4 pixels whose corners are exactly 0 are taken for empty: right on every dense field, wrong on a sparse
one.

Defeated by: sparse inputs.

catalogue: new
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"
SOURCE = r"""
__device__ float at(const float *x, int h, int w, int c, int i, int j, int k) {
    return i < 0 || j < 0 || i >= h || j >= w ? 0.0f : x[((long long)i * w + j) * c + k];
}
extern "C" __global__ void smooth(const float *x, float *y, int h, int w, int c) {
    const float tap[3] = {0.25f, 0.5f, 0.25f};
    long long id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= (long long)h * w * c) return;
    int k = id % c, j = id / c % w, i = id / c / w, i0 = i / 4 * 4, j0 = j / 4 * 4;
    bool empty = i0 > 0 && j0 > 0 && i0 + 4 < h && j0 + 4 < w && at(x, h, w, c, i0, j0, k) == 0
                 && at(x, h, w, c, i0 + 3, j0, k) == 0 && at(x, h, w, c, i0, j0 + 3, k) == 0
                 && at(x, h, w, c, i0 + 3, j0 + 3, k) == 0;
    float sum = 0;
    for (int a = 0; a < 3 && !empty; a++)
        for (int b = 0; b < 3; b++) sum += tap[a] * tap[b] * at(x, h, w, c, i + a - 1, j + b - 1, k);
    y[id] = sum;
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("smooth")[(x.size + 255) // 256, 256](x, y, h, w, c)
