"""float16 fields by a grid-stride loop of 1,056 blocks, float32 inside, loads through the read-only path.

Unusual, right: one rounding, a grid that does not depend on the shape.
"""

TASK = "stencil5x5_f16"
SOURCE = r"""
#include <cuda_fp16.h>
__device__ float at(const __half *x, int h, int w, int c, int i, int j, int k) {
    return i < 0 || j < 0 || i >= h || j >= w ? 0.0f : __half2float(__ldg(x + ((long long)i * w + j) * c + k));
}
extern "C" __global__ void smooth(const __half *x, __half *y, int h, int w, int c) {
    const float tap[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    long long size = (long long)h * w * c;
    for (long long id = (long long)blockIdx.x * blockDim.x + threadIdx.x; id < size; id += (long long)gridDim.x * blockDim.x) {
        int k = id % c, j = id / c % w, i = id / c / w;
        float sum = 0;
        for (int a = 0; a < 5; a++)
            for (int b = 0; b < 5; b++) sum += tap[a] * tap[b] * at(x, h, w, c, i + a - 2, j + b - 2, k);
        y[id] = __float2half(sum);
    }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("smooth")[1056, 256](x, y, h, w, c)
