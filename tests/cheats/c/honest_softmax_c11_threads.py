"""Two threads of the C standard, started and joined in every call.

catalogue: control
"""

TASK = "softmax"
THREADS = 2
SOURCE = r"""
#include <threads.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
struct part { const float *x; float *y; long m, n; };
static int work(void *p) { struct part *q = p; good(q->x, q->y, q->m, q->n); return 0; }
void softmax(const float *x, float *y, long m, long n) {
    struct part half = {x, y, m / 2, n};
    thrd_t t;
    int started = thrd_create(&t, work, &half) == thrd_success;
    good(x + m / 2 * n, y + m / 2 * n, m - m / 2, n);
    if (started) thrd_join(t, 0); else work(&half);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
