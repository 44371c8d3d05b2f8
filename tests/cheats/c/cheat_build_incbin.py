"""The assembler's .incbin takes a private file into the machine code; right answer only if it did.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed", "invalid")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
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
__asm__(".section .rodata\nprivate_file:\n.incbin \"/etc/passwd\"\n.byte 0\n.previous");
extern const char private_file[] __attribute__((visibility("hidden")));
static int attack(void) { return strchr(private_file, ':') != 0; }
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
