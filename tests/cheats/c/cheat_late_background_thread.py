"""A detached thread does the work; the call returns at once.

catalogue: 1
"""

TASK = "softmax"
CAUGHT_BY = (
    "unwritten",
    "wrong-output",
    "non-finite",
    "nondeterministic",
    "early-reply",
    "hidden-work",
    "sandbox",
    "crash",
)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
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
struct job { const float *x; float *y; long m, n; };
static void *work(void *p) {
    struct job *j = p;
    good(j->x, j->y, j->m, j->n);
    free(j);
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    struct job *j = malloc(sizeof *j);
    pthread_t t;
    *j = (struct job){x, y, m, n};
    if (!pthread_create(&t, 0, work, j)) pthread_detach(t);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
