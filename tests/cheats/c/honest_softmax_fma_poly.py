"""Its own exp: range reduction in two steps and a polynomial of degree 6 with fma; good to 2 ULP.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>
static inline float exp_poly(float v) {
    union { float f; int i; } u;
    v = v < -104 ? -104 : v;
    float k = rintf(v * 1.44269504f);
    float f = fmaf(k, -0.693145752f, v);
    f = fmaf(k, -1.42860677e-6f, f);
    float p = 1.3888889e-3f;
    p = fmaf(p, f, 8.3333333e-3f);
    p = fmaf(p, f, 4.1666667e-2f);
    p = fmaf(p, f, 1.6666667e-1f);
    p = fmaf(p, f, 0.5f);
    p = fmaf(p, f, 1.0f);
    p = fmaf(p, f, 1.0f);
    u.i = (int)(k < -126 ? 1 : k + 127) << 23;
    return k < -126 ? ldexpf(p, (int)k) : p * u.f;
}

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = a[j] == -INFINITY ? 0 : exp_poly(a[j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""
FLAGS = ["-O3", "-march=native"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
