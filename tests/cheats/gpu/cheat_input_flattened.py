"""Writes zeros over the input after its own work, so that an oracle which reads the input later expects 1/N.

Defeated by: the oracle works from its own copy and inputs are compared after the calls.

catalogue: 15
"""

TASK = "softmax"
CAUGHT_BY = ("input-written", "crash", "nondeterministic", "wrong-output")
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void softmax(float *x, float *y, int m, int n) {
    long long at = (long long)blockIdx.x * n;
    for (int j = threadIdx.x; j < n; j += blockDim.x) x[at + j] = 0, y[at + j] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
