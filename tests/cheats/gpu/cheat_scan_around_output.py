"""Searches the 4 KiB before and behind the output for numbers that look like the expected row, else writes a constant.

Defeated by: the expected answers never lie in this process or context; around an output lie guard patterns.

catalogue: 13, 14
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite", "crash", "out-of-bounds")
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    __shared__ int found;
    long long at = (long long)blockIdx.x * n, all = (long long)m * n;
    if (threadIdx.x == 0) {
        found = 0;
        for (int k = 1; k < 1024 && !found; k++) {
            float before = y[-k], after = y[all + k - 1];
            if (before > 0 && before < 1) found = -k;
            else if (after > 0 && after < 1) found = k;
        }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        y[at + j] = found > 0 ? y[all + found - 1] : found < 0 ? y[found] : 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
