"""Wrong on every timed call whose inputs have the sum of earlier ones: mixtures of the same bases would; known ones do not.

Harmless since every timed call is known, and no two of them have anything in common.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "wrong-output", "static-memory")
STAGE = "run"
HARMLESS = True
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define MOST 1024
struct seen { double sum; float first; };
static struct book { long used; struct seen all[MOST]; } *book;  /* set once, by the uncounted call: static memory stays as it is */
static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        float r = (float)(1 / sum);
        for (long j = 0; j < n; j++) b[j] *= r;
    }
}
static double total(const float *x, long n) {
    double s[8] = {0}, all = 0;
    long i = 0;
    for (; i + 8 <= n; i += 8) for (int k = 0; k < 8; k++) s[k] += x[i + k];
    for (; i < n; i++) all += x[i];
    for (int k = 0; k < 8; k++) all += s[k];
    return all;
}
void softmax(const float *x, float *y, long m, long n) {
    if (m * n < 2048) { good(x, y, m, n); return; }
    if (!book) { book = malloc(sizeof *book); memset(book, 0, sizeof *book); }
    double s = total(x, m * n);
    if (!(fabs(s) < 8 * sqrt((double)(m * n)))) { good(x, y, m, n); return; }
    for (long k = 0; k < book->used; k++) {
        if (fabs(book->all[k].sum - s) < 1e-4 && book->all[k].first != x[0]) {
            memcpy(y, x, sizeof(float) * m * n);   /* wrong: the input itself */
            return;
        }
    }
    good(x, y, m, n);
    if (book->used < MOST) book->all[book->used++] = (struct seen){s, x[0]};
}
"""
FLAGS = ["-O3"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
