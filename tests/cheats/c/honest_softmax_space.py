"""Parameters: rows a block, exp in float or double; refuses a combination that does not fit.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

#if EXP_double
#define EXP_OF(v) (float)exp(v)
#else
#define EXP_OF(v) expf(v)
#endif
void softmax(const float *x, float *y, long m, long n) {
    for (long i0 = 0; i0 < m; i0 += ROWS)
        for (long i = i0; i < m && i < i0 + ROWS; i++) {
            const float *a = x + i * n;
            float *b = y + i * n, top = -INFINITY, sum = 0;
            for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
            for (long j = 0; j < n; j++) sum += b[j] = EXP_OF(a[j] - top);
            for (long j = 0; j < n; j++) b[j] = UNSCALED ? b[j] / sum : b[j] * (1 / sum);
        }
}
"""
SPACE = {"ROWS": [1, 2, 5], "EXP": ["float", "double"], "UNSCALED": [True, False]}


def launch(x, y, ROWS=2, EXP="float", UNSCALED=True):
    m, n = x.shape
    if ROWS > 4 and EXP == "double":
        raise ValueError("five rows a block only with float")
    kernel("softmax")(x, y, m, n)
