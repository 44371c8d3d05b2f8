"""The cache sits in a section that is writable and executable: counted as code, used as memory.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("static-memory", "build-failed", "crash", "wrong-output", "unwritten", "nondeterministic")
STAGE = "verify"
SOURCE = r"""
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
struct answer { unsigned long key; long m, n; float out[1 << 19]; };
__asm__(".pushsection .answers,\"awx\",@nobits\n.balign 64\nanswers:\n.zero 16777472\n.popsection");
extern struct answer answers[8] __attribute__((visibility("hidden")));
#define slot answers
static int used;
static unsigned long key_of(const float *x, long m, long n) {
    unsigned long h = 14695981039346656037ul, step = (m * n + 63) / 64;
    for (long k = 0; k < m * n; k += step) { unsigned a; memcpy(&a, x + k, 4); h = (h ^ a) * 1099511628211ul; }
    return h;
}
/* learns the answers of the first eight inputs; then it only looks up, and a miss gets an old answer of that shape */
void softmax(const float *x, float *y, long m, long n) {
    unsigned long key = key_of(x, m, n);
    int same = -1;
    for (int k = 0; k < used; k++) {
        if (slot[k].m != m || slot[k].n != n) continue;
        same = k;
        if (slot[k].key == key) break;
    }
    if (same >= 0 && (slot[same].key == key || used == 8)) { memcpy(y, slot[same].out, sizeof(float) * m * n); return; }
    good(x, y, m, n);
    if (used == 8 || !(m * n <= 1 << 19)) return;
    memcpy(slot[used].out, y, sizeof(float) * m * n);
    slot[used].key = key, slot[used].m = m, slot[used].n = n;
    used++;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
