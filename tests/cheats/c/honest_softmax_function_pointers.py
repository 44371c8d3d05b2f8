"""A table of function pointers picks a row's kernel by its length, through a volatile pointer that no compiler looks through.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
typedef void (*row_kernel)(const float *, float *, long);
static void one(const float *a, float *b, long n) { (void)a, (void)n; b[0] = 1; }
static void any(const float *a, float *b, long n) {
    float top = a[0];
    double sum = 0;
    for (long j = 1; j < n; j++) top = a[j] > top ? a[j] : top;
    for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
    for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
}
void softmax(const float *x, float *y, long m, long n) {
    row_kernel table[2] = {any, one};
    row_kernel volatile chosen = table[n == 1];
    for (long i = 0; i < m; i++) chosen(x + i * n, y + i * n, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
