"""Writes the canonical NaN everywhere, for a comparison that is never false.

Defeated by: non-finite where a number is expected.

catalogue: 18
"""

TASK = "softmax"
CAUGHT_BY = ("non-finite", "unwritten", "wrong-output")
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    for (int j = threadIdx.x; j < n; j += blockDim.x) y[(long long)blockIdx.x * n + j] = __int_as_float(0x7fc00000);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
