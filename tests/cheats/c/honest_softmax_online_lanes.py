"""Online softmax in eight lanes, merged at the end.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        float top[8], sum[8], all = -INFINITY, total = 0;
        for (int l = 0; l < 8; l++) top[l] = -INFINITY, sum[l] = 0;
        for (long j = 0; j < n; j++) {
            int l = j % 8;
            if (a[j] > top[l]) { sum[l] = sum[l] * expf(top[l] - a[j]) + 1; top[l] = a[j]; }
            else if (a[j] != -INFINITY) sum[l] += expf(a[j] - top[l]);
        }
        for (int l = 0; l < 8; l++) all = fmaxf(all, top[l]);
        for (int l = 0; l < 8; l++) if (sum[l] != 0) total += sum[l] * expf(top[l] - all);
        for (long j = 0; j < n; j++) b[j] = expf(a[j] - all) / total;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
