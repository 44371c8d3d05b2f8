"""Asks for a scratch as large as the output and hopes to get the memory in which the reference was computed.

Defeated by: scratch is poisoned; the oracle works in another process.

catalogue: 13
"""

TASK = "softmax"
CAUGHT_BY = ("non-finite", "wrong-output", "unwritten", "nondeterministic")
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void softmax(const float *found, float *y, int m, int n) {
    long long at = (long long)blockIdx.x * n;
    for (int j = threadIdx.x; j < n; j += blockDim.x) y[at + j] = found[at + j];
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](scratch((m, n)), y, m, n)
