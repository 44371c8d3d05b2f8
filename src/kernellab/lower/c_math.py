"""Functions in C that a vector unit can run: polynomials without a branch, because a call into the library in a loop keeps a
compiler from using vectors. Each is within 2 ULP of the true value on all of float32, erf within 6; MATH chooses the library
instead.

The coefficients are least-maximum fits of our own, relative to the function.
"""

from __future__ import annotations

_EXP = """\
/* e^x to 2 ULP: 2^n times a polynomial of what is left, n in two halves so that neither overflows */
static inline float exp_poly(float x) {
    x = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
    float n = rintf(x * 1.44269504f), r = x - n * 0.693359375f + n * 2.12194440e-4f, low, high;
    float p = 0x1.6ab80ep-10f;
    p = p * r + 0x1.126e7cp-7f;
    p = p * r + 0x1.5558a2p-5f;
    p = p * r + 0x1.555408p-3f;
    p = p * r + 0x1.fffffap-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int half = (int)n >> 1, first = (half + 127) << 23, second = ((int)n - half + 127) << 23;
    __builtin_memcpy(&low, &first, sizeof low);
    __builtin_memcpy(&high, &second, sizeof high);
    return p * low * high;
}
"""
_ERF = """\
/* x times a quotient of polynomials of x^2; from 3.9 on it is 1 */
static inline float erf_poly(float x) {
    float c = x > 3.9f ? 3.9f : x < -3.9f ? -3.9f : x, s = c * c;
    float p = 0x1.141596p-19f, q = 0x1.4029c2p-15f;
    p = p * s + 0x1.2acacp-12f;
    q = q * s + 0x1.302a5p-10f;
    p = p * s + 0x1.ec0766p-9f;
    q = q * s + 0x1.e9bc8ap-7f;
    p = p * s + 0x1.afd52cp-5f;
    q = q * s + 0x1.d2e178p-4f;
    p = p * s + 0x1.854d9ap-3f;
    q = q * s + 0x1.00eb4ap-1f;
    p = p * s + 0x1.20dd74p+0f;
    q = q * s + 1.0f;
    return x > 3.9f ? 1.0f : x < -3.9f ? -1.0f : c * p / q;
}
"""
_TANH = """\
/* near 0 an odd polynomial, else 1 - 2 / (e^2|x| + 1) */
static inline float tanh_poly(float x) {
    float t = fabsf(x), s = x * x;
    float near = -0x1.6a52eep-8f;
    near = near * s + 0x1.4f9936p-6f;
    near = near * s - 0x1.b7da4ep-5f;
    near = near * s + 0x1.11044ep-3f;
    near = near * s - 0x1.555526p-2f;
    near = near * s * x + x;
    float far = copysignf(1.0f - 2.0f / (exp_poly(2.0f * (t > 20.0f ? 20.0f : t)) + 1.0f), x);
    return t != t ? x : t < 0.65f ? near : far;
}
"""
_LOG = """\
/* the exponent times log 2, and a polynomial of a mantissa near 1 */
static inline float log_poly(float x) {
    float scaled = x < 0x1p-126f ? x * 0x1p25f : x, m;
    int bits;
    __builtin_memcpy(&bits, &scaled, sizeof bits);
    int n = ((bits - 0x3f3504f3) >> 23), rest = bits - n * 0x800000;
    __builtin_memcpy(&m, &rest, sizeof m);
    float f = m - 1.0f, e = (float)n - (x < 0x1p-126f ? 25.0f : 0.0f);
    float p = -0x1.38b4ccp-4f;
    p = p * f + 0x1.055b46p-3f;
    p = p * f - 0x1.0d8552p-3f;
    p = p * f + 0x1.22da22p-3f;
    p = p * f - 0x1.547244p-3f;
    p = p * f + 0x1.99a008p-3f;
    p = p * f - 0x1.000228p-2f;
    p = p * f + 0x1.555554p-2f;
    float y = e * 0x1.62e4p-1f + (f + (f * f * (p * f - 0.5f) + e * 0x1.7f7d1cp-20f));
    y = x == INFINITY ? x : y;
    return x == 0.0f ? -INFINITY : x >= 0.0f ? y : NAN;
}
"""
_LOG1P = """\
/* log(1 + x), and what was lost in adding 1 */
static inline float log1p_poly(float x) {
    float u = 1.0f + x, lost = x - (u - 1.0f);
    float y = log_poly(u) + (u > 0.0f && u < INFINITY ? lost / u : 0.0f);
    return fabsf(x) < 0x1p-24f ? x : y;
}
"""
_EXPM1 = """\
/* near 0 a polynomial, else e^x - 1 */
static inline float expm1_poly(float x) {
    float p = 0x1.a56506p-16f;
    p = p * x + 0x1.a58c54p-13f;
    p = p * x + 0x1.6c0f08p-10f;
    p = p * x + 0x1.110aeap-7f;
    p = p * x + 0x1.55555cp-5f;
    p = p * x + 0x1.55555ep-3f;
    p = p * x + 0.5f;
    p = p * x * x + x;
    return fabsf(x) < 0.7f ? p : exp_poly(x) - 1.0f;
}
"""
_TEXTS = {"exp": _EXP, "erf": _ERF, "tanh": _TANH, "log": _LOG, "log1p": _LOG1P, "expm1": _EXPM1}
_NEEDS = {"tanh": "exp", "expm1": "exp", "log1p": "log"}
POLYNOMIALS = frozenset(_TEXTS)


def macro(function: str) -> str:
    """What a text calls."""
    return function.upper()


def definitions(texts: str, real: str) -> str:
    """Of the functions that these texts call; the library's where doubles are computed with."""
    used = [f for f in _TEXTS if f"{macro(f)}(" in texts]
    if not used:
        return ""
    if real != "float":
        return "".join(f"#define {macro(f)} {f}\n" for f in used)
    own = [f for f in _TEXTS if f in used or any(_NEEDS.get(u) == f for u in used)]
    chosen = "".join(f"#define {macro(f)} {f}_poly\n" for f in used)
    library = "".join(f"#define {macro(f)} {f}f\n" for f in used)
    return "".join(_TEXTS[f] for f in own) + f"#ifdef MATH_poly\n{chosen}#else\n{library}#endif\n"
