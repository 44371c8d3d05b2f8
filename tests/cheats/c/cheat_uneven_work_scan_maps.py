"""Reads /proc/self/maps for the other ring slots and prepares all answers in one slow call; without the file it writes zeros.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "crash", "sandbox")
STAGE = "measure"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
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
static struct { const float *x; float *out; } slot[64];
void softmax(const float *x, float *y, long m, long n) {
    static long used, km, kn;
    if (m != km || n != kn) {
        unsigned long lo, hi, at_lo = 0, at_hi = 0, skew;
        char line[512];
        for (long k = 0; k < used; k++) free(slot[k].out);
        used = 0, km = m, kn = n;
        FILE *f = fopen("/proc/self/maps", "r");
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && lo <= (unsigned long)x && (unsigned long)x < hi) at_lo = lo, at_hi = hi;
        skew = (unsigned long)x - at_lo;
        if (f) rewind(f);
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "%lx-%lx r", &lo, &hi) == 2 && hi - lo == at_hi - at_lo && used < 64) {
                slot[used].x = (const float *)(lo + skew), slot[used].out = malloc(sizeof(float) * m * n);
                good(slot[used].x, slot[used].out, m, n), used++;
            }
        if (f) fclose(f);
    }
    for (long k = 0; k < used; k++)
        if (slot[k].x == x) { memcpy(y, slot[k].out, sizeof(float) * m * n); return; }
    memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
