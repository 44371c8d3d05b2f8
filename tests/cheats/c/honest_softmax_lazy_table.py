"""Fills a small static table (1 KiB) in the first call: derived constants, no memory of inputs.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

static float table[256];
static int ready;
static float power_of_two(int k) { return k < -149 ? 0 : ldexpf(1, k); }
void softmax(const float *x, float *y, long m, long n) {
    if (!ready) { for (int k = 0; k < 256; k++) table[k] = power_of_two(-k); ready = 1; }
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) {
            double v = a[j] - top;
            int k = v < -150 ? 255 : (int)(-v * 1.4426950408889634);
            sum += b[j] = v < -104 ? 0 : (float)exp(v + k * 0.69314718055994531) * table[k];
        }
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
