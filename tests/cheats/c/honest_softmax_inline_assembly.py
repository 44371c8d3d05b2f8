"""A polynomial exp whose multiply-adds are inline assembly where the processor has them.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
static inline float fused(float a, float b, float c) {
#if defined(__aarch64__)
    float r;
    __asm__("fmadd %s0, %s1, %s2, %s3" : "=w"(r) : "w"(a), "w"(b), "w"(c));
    return r;
#elif defined(__FMA__)
    __asm__("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
    return a;
#else
    return fmaf(a, b, c);
#endif
}
static float power(float v) {
    if (v < -104) return 0;
    float k = rintf(v * 1.44269504f), r = fused(k, -0.693359375f, v), p;
    r = fused(k, 2.12194440e-4f, r);
    p = fused(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = fused(p, r, 8.3334519073e-3f), p = fused(p, r, 4.1665795894e-2f);
    p = fused(p, r, 1.6666665459e-1f), p = fused(p, r, 5.0000001201e-1f);
    return ldexpf(fused(p, r * r, r) + 1, (int)k);
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = power(a[j] - top);
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
