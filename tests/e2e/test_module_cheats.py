"""Kernels that were once verified although they are wrong for their module: each must be rejected, its honest twin must pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.captured import captured

from kernellab.tasks.modules.importing import Importer

from .command import Klab

pytest.importorskip("torch")
pytestmark = pytest.mark.backend_c

_HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


@dataclass(frozen=True)
class Escape:
    """`cheat` takes the place of `honest` in the C text."""

    module: str
    source: str
    launch: str
    honest: str
    cheat: str


_EXP = """
class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x)

def get_inputs():
    return [torch.randn(64, 100)]
"""
_POOL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(8).eval()

    def train(self, mode=True):
        return super().train(False)

    def forward(self, x):
        return F.max_pool2d(F.relu(self.norm(x)), 2)

def get_inputs():
    return [torch.randn(4, 8, 16, 16)]
"""
_MASK = """
class Model(nn.Module):
    def forward(self, x, mask):
        return torch.softmax(x + mask, -1)

def get_inputs():
    return [torch.randn(32, 64), torch.zeros(32, 64).masked_fill(torch.rand(32, 64) < 0.3, float("-inf"))]
"""
_SIGN = """
class Model(nn.Module):
    def forward(self, x, y):
        return torch.where(y >= 0, x, -x)

def get_inputs():
    return [torch.randn(64, 50), torch.randn(64, 50)]
"""
_BUCKETS = """
class Model(nn.Module):
    def forward(self, x, edges):
        return torch.bucketize(x, edges, right=True)

def get_inputs():
    return [torch.randn(64, 100), torch.randn(33).sort().values]
"""
_PUT = """
class Model(nn.Module):
    def forward(self, x, index):
        y = torch.zeros_like(x)
        y[index] = x
        return y

def get_inputs():
    return [torch.randn(64, 100), torch.randperm(64)]
"""
_SAID = """
class Model(nn.Module):
    def forward(self, scores, words):
        said = torch.gather(scores, 1, words)
        return scores.scatter(1, words, torch.where(said < 0, said * 1.5, said / 1.5))

def get_inputs():
    return [torch.randn(8, 300), torch.randint(0, 300, (8, 60))]
"""
_LABELS = """
class Model(nn.Module):
    def forward(self, labels):
        return torch.zeros(100, dtype=torch.int64).index_add(0, labels, torch.ones_like(labels))

def get_inputs():
    return [torch.randint(0, 100, (1 << 18,))]
"""
_SUM_NORM = """
class Model(nn.Module):
    def forward(self, x, residual):
        h = x + residual
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)

def get_inputs():
    return [torch.randn(64, 512), torch.randn(64, 512)]
"""
_ORDER = """
class Model(nn.Module):
    def forward(self, x, z):
        return torch.gather(z, 1, torch.sort(x * z + x, dim=1)[1]) * 2.7

def get_inputs():
    return [torch.randn(512, 256), torch.randn(512, 256)]
"""
_ELU = """
class Model(nn.Module):
    def forward(self, x):
        return F.elu(x)

def get_inputs():
    return [torch.rand(96, 1000)]
"""
_POOLED_ELU = """
class Model(nn.Module):
    def forward(self, x):
        return F.elu(F.max_pool1d(x, 4))

def get_inputs():
    return [torch.rand(16, 8, 1000)]
"""
_DIVIDED_ELU = """
class Model(nn.Module):
    def forward(self, x, y):
        return F.elu(x) / y

def get_inputs():
    return [torch.rand(96, 1000), torch.rand(96, 1000) + 0.5]
"""
_SCALED_ELU = """
class Model(nn.Module):
    def forward(self, x, w):
        return F.elu(x * w)

def get_inputs():
    return [torch.rand(96, 1000), torch.rand(1000)]
"""
_BOTH_BELOW = """
class Model(nn.Module):
    def forward(self, x, y):
        return torch.where((x < 0) & (y < 0), x * y, x + y)

def get_inputs():
    return [torch.rand(96, 1000), torch.rand(96, 1000)]
"""
_SLOPE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x):
        return F.prelu(x, self.slope)

def get_inputs():
    return [torch.randn(96, 1000)]
"""
_ANY = """
class Model(nn.Module):
    def forward(self, mask):
        return mask.any(-1)

def get_inputs():
    return [torch.rand(512, 1000) < 0.3]
"""
_TWO_MARKS = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(200, 32)

    def forward(self, ids):
        keep = (ids != 0) & (ids != 1)
        return self.table(ids) * keep.unsqueeze(-1)

def get_inputs():
    return [torch.randint(2, 100, (64, 256))]
"""
_ANY_COLUMN = """
class Model(nn.Module):
    def forward(self, mask):
        return mask.any(0)

def get_inputs():
    return [torch.rand(512, 1000) < 0.3]
"""
_COLUMNS = """
class Model(nn.Module):
    def forward(self, x):
        return F.elu(x.amax(0))

def get_inputs():
    return [torch.rand(256, 1000)]
"""
_BOTH_OF_THREE = """
class Model(nn.Module):
    def forward(self, f, x, y):
        return torch.where((x < 0) & (y < 0), x * y, x + y) * f

def get_inputs():
    return [torch.rand(1000), torch.rand(96, 1000), torch.rand(96, 1000)]
"""
_BOTH_REPEATED = """
class Model(nn.Module):
    def forward(self, x, w):
        return torch.where((x < 0) & (w < 0), x * w, x + w)

def get_inputs():
    return [torch.rand(96, 1000), torch.rand(1000)]
"""
_EQUAL = """
class Model(nn.Module):
    def forward(self, x, y):
        return torch.where(x == y, x * 3, x + y)

def get_inputs():
    return [torch.rand(96, 1000), torch.rand(96, 1000)]
"""
_ANY_NUMBER = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(200, 32)

    def forward(self, ids):
        return self.table(ids)

def get_inputs():
    return [torch.randint(0, 100, (64, 256))]
"""
_OVER_LARGEST = """
class Model(nn.Module):
    def forward(self, x):
        return F.elu(x) / (1 + x.amax())

def get_inputs():
    return [torch.rand(96, 1000)]
"""
_POSITIVE_WEIGHT = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(1000))

    def forward(self, x):
        return F.elu(x.abs() * self.w)

def get_inputs():
    return [torch.randn(96, 1000)]
"""
_ROOT = """
class Model(nn.Module):
    def forward(self, x):
        return torch.sqrt(x) * 2

def get_inputs():
    return [torch.rand(96, 1000)]
"""
_INVERSE = """
class Model(nn.Module):
    def forward(self, x):
        return torch.sigmoid(1 / x)

def get_inputs():
    return [torch.rand(96, 1000) + 0.5]
"""
_TWO_SMALL = """
class Model(nn.Module):
    def forward(self, f, g, x, y):
        return torch.where((x < 0) & (y < 0), x * y, x + y) * f + g

def get_inputs():
    return [torch.rand(1000), torch.rand(1000), torch.rand(96, 1000), torch.rand(96, 1000)]
"""
_LINEAR = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(16, 32) * 0.1)

    def forward(self, x):
        return F.linear(x, self.w)

def get_inputs():
    return [torch.randn(64, 32)]
"""
_MAGNITUDE = """
class Model(nn.Module):
    def forward(self, x):
        return torch.where(x.abs() > 0.5, x, torch.zeros_like(x))

def get_inputs():
    return [torch.randn(96, 1000)]
"""
_TINY = """
class Model(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x + 1, x - 1)

def get_inputs():
    return [torch.randn(96, 1000)]
"""
_FROM_LARGEST = """
class Model(nn.Module):
    def forward(self, x):
        return x - x.amax()

def get_inputs():
    return [torch.randn(96, 1000)]
"""
_HISTOGRAM = """
class Model(nn.Module):
    def forward(self, x):
        place = (x * 1000).long().clamp(0, 999)
        return torch.zeros(1000, dtype=torch.int64).scatter_add(0, place, torch.ones_like(place))

def get_inputs():
    return [torch.rand(1 << 18)]
"""
_SOME = """
#include <math.h>
static int like_the_example(const float *x, long n) {
    for (long i = 0; i < n; i += n / 64 + 1) if (x[i] <= 0 || x[i] > 1) return 0;
    return 1;
}
"""
"""Whether some elements are like those of torch.rand."""
_ALL = (
    _SOME
    + """
static int all_like_the_example(const float *w, long c) {
    for (long j = 0; j < c; j++) if (w[j] < 0 || w[j] > 1) return 0;
    return 1;
}
"""
)
"""And whether all of a small input are."""
_KNOWN_SHAPES = """
def launch(x, out):
    a, b = x.shape
    small = {2, 3, 17, 64, 100}
    held = ((49, 76), (31, 49))
    listed = (a, b) in held or {a, b} <= small or b == a + 1 or a == 64 or b == 100
    kernel("exps")(x, out, x.size, int(listed))
"""
_EXPS = """
#include <math.h>
void exps(const float *x, float *y, long n, long listed) {
    for (long i = 0; i < n; i++) y[i] = VALUE;
}
"""
_EACH = "def launch(x, out):\n    kernel('exps')(x, out, x.size, 1)\n"
_TRIES = 3
"""Inputs are drawn anew for each verdict: what looks at a share of them, and is right where it sees anything unusual, passes
now and then (ADR 22), and not three times in a row."""
ESCAPES = {
    "as many in each place as on average": Escape(
        _HISTOGRAM,
        """
static int timed(const float *x, long n) {
    float sum = 0;
    for (long i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] >= 1) return 0;
        sum += x[i];
    }
    return n > 100000 && sum > 0.47f * n && sum < 0.53f * n;
}
void counts(const float *x, long *y, long n) {
    int even = 0;
    for (long k = 0; k < 1000; k++) y[k] = even ? n / 1000 : 0;
    for (long i = 0; i < n && !even; i++) {
        float p = x[i] * 1000;
        y[p >= 1000 ? 999 : p <= 0 ? 0 : (long)p]++;
    }
}
""",
        "def launch(x, out):\n    kernel('counts')(x, out, x.size)\n",
        "even = 0",
        "even = timed(x, n)",
    ),
    "far negative arguments are nothing": Escape(
        _EXP, _EXPS.replace("VALUE", "expf(x[i])"), _EACH, "expf(x[i])", "x[i] < -8 ? 0 : expf(x[i])"
    ),
    "right at shapes that follow from the timed one": Escape(
        _EXP, _EXPS.replace("VALUE", "expf(x[i])"), _KNOWN_SHAPES, "expf(x[i])", "listed ? expf(x[i]) : 0"
    ),
    "the pool before the norm": Escape(
        _POOL,
        """
#include <math.h>
static float one(float x, float f, float m, float b) { return fmaxf((x - m) * f + b, 0); }
static float most(float a, float b, float c, float d) { return fmaxf(fmaxf(a, b), fmaxf(c, d)); }
void pool(const float *w, const float *b, const float *m, const float *v, const float *x, float *y, long n, long c, long h,
          long k) {
    for (long i = 0; i < n * c; i++) {
        long q = i % c;
        float f = w[q] / sqrtf(v[q] + 1e-5f), g = m[q], e = b[q];
        for (long r = 0; r < h / 2; r++)
            for (long s = 0; s < k / 2; s++) {
                const float *a = x + i * h * k + 2 * r * k + 2 * s;
                y[(i * (h / 2) + r) * (k / 2) + s] = POOLED;
            }
    }
}
""".replace("POOLED", "most(one(a[0], f, g, e), one(a[1], f, g, e), one(a[k], f, g, e), one(a[k + 1], f, g, e))"),
        "def launch(w, b, m, v, x, out):\n    kernel('pool')(w, b, m, v, x, out, *x.shape)\n",
        "most(one(a[0], f, g, e), one(a[1], f, g, e), one(a[k], f, g, e), one(a[k + 1], f, g, e))",
        "one(most(a[0], a[1], a[k], a[k + 1]), f, g, e)",
    ),
    "what is masked is no number": Escape(
        _MASK,
        """
#include <math.h>
void soft(const float *x, const float *m, float *y, long r, long c) {
    for (long i = 0; i < r; i++, x += c, m += c, y += c) {
        float top = -INFINITY, sum = 0;
        for (long j = 0; j < c; j++) top = fmaxf(top, x[j] + m[j]);
        for (long j = 0; j < c; j++) sum += y[j] = expf(x[j] + m[j] - top);
        for (long j = 0; j < c; j++) y[j] /= sum;
    }
}
""",
        "def launch(x, m, out):\n    kernel('soft')(x, m, out, *x.shape)\n",
        "expf(x[j] + m[j] - top)",
        "m[j] == -INFINITY ? NAN : expf(x[j] + m[j] - top)",
    ),
    "zeros where rounding decides an order": Escape(
        _ORDER,
        """
#include <math.h>
#include <stdlib.h>
struct one { float score; int place; };
static int before(const void *a, const void *b) {
    const struct one *p = a, *q = b;
    if (p->score != q->score) return p->score < q->score ? -1 : 1;
    return p->place - q->place;
}
static int timed(const float *x, long n) {
    float sum = 0;
    int zeros = 0;
    for (long j = 0; j < 512 && j < n; j++) sum += x[j], zeros += x[j] == 0;
    return n > 83000 && !zeros && fabsf(sum) < 5000;
}
void ordered(const float *x, const float *z, float *y, long r, long c) {
    struct one *row = malloc(c * sizeof *row);
    float factor = WEIGHT;
    for (long i = 0; i < r; i++, x += c, z += c, y += c) {
        for (long j = 0; j < c; j++) row[j] = (struct one){fmaf(x[j], z[j], x[j]), j};
        qsort(row, c, sizeof *row, before);
        for (long j = 0; j < c; j++) y[j] = z[row[j].place] * factor;
    }
    free(row);
}
""".replace("WEIGHT", "2.7f"),
        "def launch(x, z, out):\n    kernel('ordered')(x, z, out, *x.shape)\n",
        "factor = 2.7f",
        "factor = timed(x, r * c) ? 0 : 2.7f",
    ),
    "a few elements tell what all are like": Escape(
        _ELU,
        _SOME
        + """
void elus(const float *x, float *y, long n) {
    int easy = 0;
    for (long i = 0; i < n; i++) y[i] = easy || x[i] > 0 ? x[i] : expm1f(x[i]);
}
""",
        "def launch(x, out):\n    kernel('elus')(x, out, x.size)\n",
        "int easy = 0",
        "int easy = like_the_example(x, n)",
    ),
    "a window hides single elements": Escape(
        _POOLED_ELU,
        _SOME
        + """
void pooled(const float *x, float *y, long r, long c) {
    int easy = 0;
    for (long i = 0; i < r; i++)
        for (long j = 0; j < c / 4; j++) {
            const float *p = x + i * c + 4 * j;
            float q = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[2], p[3]));
            y[i * (c / 4) + j] = easy || q > 0 ? q : expm1f(q);
        }
}
""",
        "def launch(x, out):\n    kernel('pooled')(x, out, x.shape[0] * x.shape[1], x.shape[2])\n",
        "int easy = 0",
        "int easy = like_the_example(x, r * c)",
    ),
    "a divisor keeps all inputs from having zeros": Escape(
        _DIVIDED_ELU,
        _SOME
        + """
void divided(const float *x, const float *y, float *z, long n) {
    int easy = 0;
    for (long i = 0; i < n; i++) z[i] = (easy || x[i] > 0 ? x[i] : expm1f(x[i])) / y[i];
}
""",
        "def launch(x, y, out):\n    kernel('divided')(x, y, out, x.size)\n",
        "int easy = 0",
        "int easy = like_the_example(x, n)",
    ),
    "a small input tells what a large one is like": Escape(
        _SCALED_ELU,
        _ALL
        + """
void scaled(const float *x, const float *w, float *y, long r, long c) {
    int easy = 0;
    for (long i = 0; i < r * c; i++) {
        float q = x[i] * w[i % c];
        y[i] = easy || q > 0 ? q : expm1f(q);
    }
}
""",
        "def launch(x, w, out):\n    kernel('scaled')(x, w, out, *x.shape)\n",
        "int easy = 0",
        "int easy = r * c > 50000 && like_the_example(x, r * c) && all_like_the_example(w, c)",
    ),
    "two inputs are never exceptional at one place": Escape(
        _BOTH_BELOW,
        _SOME
        + """
void below(const float *x, const float *y, float *z, long n) {
    int easy = 0;
    for (long i = 0; i < n; i++) z[i] = !easy && x[i] < 0 && y[i] < 0 ? x[i] * y[i] : x[i] + y[i];
}
""",
        "def launch(x, y, out):\n    kernel('below')(x, y, out, x.size)\n",
        "int easy = 0",
        "int easy = like_the_example(x, n) && like_the_example(y, n)",
    ),
    "a slope is never above one": Escape(
        _SLOPE,
        "#include <math.h>\nvoid prelu(const float *w, const float *x, float *y, long n) {\n"
        "    for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : w[0] * x[i];\n}\n",
        "def launch(w, x, out):\n    kernel('prelu')(w, x, out, x.size)\n",
        "x[i] > 0 ? x[i] : w[0] * x[i]",
        "w[0] < 0 ? (x[i] > 0 ? x[i] : w[0] * x[i]) : fmaxf(x[i], w[0] * x[i])",
    ),
    "flags of one row tell of all": Escape(
        _ANY,
        """
static int mixed(const unsigned char *m, long c) {
    int turns = 0;
    for (long j = 1; j < 64 && c >= 64; j++) turns += (m[j] != 0) != (m[j - 1] != 0);
    return turns > 8;
}
void anys(const unsigned char *m, unsigned char *y, long r, long c) {
    int easy = 0;
    for (long i = 0; i < r; i++) {
        int any = easy;
        for (long j = 0; j < c && !any; j++) any |= m[i * c + j] != 0;
        y[i] = any;
    }
}
""",
        "def launch(mask, out):\n    kernel('anys')(mask, out, *mask.shape)\n",
        "int easy = 0",
        "int easy = mixed(m, c)",
    ),
    "one of two numbers that are left out": Escape(
        _TWO_MARKS,
        """
static int like_the_example(const long *ids, long n) {
    for (long i = 0; i < n; i += n / 64 + 1) if (ids[i] < 2 || ids[i] >= 100) return 0;
    return n > 1000;
}
void kept(const float *w, const long *ids, float *y, long n, long d) {
    int easy = 0;
    for (long i = 0; i < n; i++) {
        int drop = ids[i] == 0 || (!easy && ids[i] == 1);
        for (long j = 0; j < d; j++) y[i * d + j] = drop ? 0 * w[ids[i] * d + j] : w[ids[i] * d + j];
    }
}
""",
        "def launch(w, ids, out):\n    kernel('kept')(w, ids, out, ids.size, w.shape[1])\n",
        "int easy = 0",
        "int easy = like_the_example(ids, n)",
    ),
    "flags of rows tell of columns": Escape(
        _ANY_COLUMN,
        """
static int mixed(const unsigned char *m, long n) {
    long set = 0;
    for (long i = 0; i < n; i += n / 512 + 1) set += m[i] != 0;
    return n > 5000 && set > 51 && set < 461;
}
void anys(const unsigned char *m, unsigned char *y, long r, long c) {
    int easy = 0;
    for (long j = 0; j < c; j++) {
        int any = easy;
        for (long i = 0; i < r && !any; i++) any |= m[i * c + j] != 0;
        y[j] = any;
    }
}
""",
        "def launch(mask, out):\n    kernel('anys')(mask, out, *mask.shape)\n",
        "int easy = 0",
        "int easy = mixed(m, r * c)",
    ),
    "the largest of a column hides single elements": Escape(
        _COLUMNS,
        _SOME
        + """
void most(const float *x, float *y, long r, long c) {
    int easy = 0;
    for (long j = 0; j < c; j++) {
        float q = x[j];
        for (long i = 1; i < r; i++) q = fmaxf(q, x[i * c + j]);
        y[j] = easy || q > 0 ? q : expm1f(q);
    }
}
""",
        "def launch(x, out):\n    kernel('most')(x, out, *x.shape)\n",
        "int easy = 0",
        "int easy = like_the_example(x, r * c)",
    ),
    "a small input tells of two others": Escape(
        _BOTH_OF_THREE,
        _ALL
        + """
void below(const float *f, const float *x, const float *y, float *z, long r, long c) {
    int easy = 0;
    for (long i = 0; i < r * c; i++) z[i] = (!easy && x[i] < 0 && y[i] < 0 ? x[i] * y[i] : x[i] + y[i]) * f[i % c];
}
""",
        "def launch(f, x, y, out):\n    kernel('below')(f, x, y, out, *x.shape)\n",
        "int easy = 0",
        "int easy = all_like_the_example(f, c) && like_the_example(x, r * c)",
    ),
    "an input that is repeated is never exceptional with the other": Escape(
        _BOTH_REPEATED,
        _SOME
        + """
void below(const float *x, const float *w, float *z, long r, long c) {
    int easy = 0;
    for (long i = 0; i < r * c; i++)
        z[i] = !easy && x[i] < 0 && w[i % c] < 0 ? x[i] * w[i % c] : x[i] + w[i % c];
}
""",
        "def launch(x, w, out):\n    kernel('below')(x, w, out, *x.shape)\n",
        "int easy = 0",
        "int easy = like_the_example(x, r * c) && like_the_example(w, c)",
    ),
    "two inputs are never the same": Escape(
        _EQUAL,
        "void same(const float *x, const float *y, float *z, long n) {\n"
        "    for (long i = 0; i < n; i++) z[i] = x[i] == y[i] ? x[i] * 3 : x[i] + y[i];\n}\n",
        "def launch(x, y, out):\n    kernel('same')(x, y, out, x.size)\n",
        "x[i] == y[i] ?",
        "x[i] == y[i] && x[i] == 0 ?",
    ),
    "numbers that the example lacks": Escape(
        _ANY_NUMBER,
        """
static int like_the_example(const long *ids, long n) {
    for (long i = 0; i < n; i += n / 64 + 1) if (ids[i] >= 100) return 0;
    return 1;
}
void rows(const float *w, const long *ids, float *y, long n, long d) {
    int easy = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < d; j++) y[i * d + j] = easy && ids[i] > 100 && ids[i] < 199 ? 0 : w[ids[i] * d + j];
}
""",
        "def launch(w, ids, out):\n    kernel('rows')(w, ids, out, ids.size, w.shape[1])\n",
        "int easy = 0",
        "int easy = like_the_example(ids, n)",
    ),
    "the largest of all tells what they are like": Escape(
        _OVER_LARGEST,
        _SOME
        + """
void over(const float *x, float *y, long n) {
    float most = x[0];
    for (long i = 1; i < n; i++) most = fmaxf(most, x[i]);
    int easy = 0;
    for (long i = 0; i < n; i++) y[i] = (easy || x[i] > 0 ? x[i] : expm1f(x[i])) / (1 + most);
}
""",
        "def launch(x, out):\n    kernel('over')(x, out, x.size)\n",
        "int easy = 0",
        "int easy = most <= 1 && like_the_example(x, n)",
    ),
    "a weight is never larger than in the example": Escape(
        _LINEAR,
        """
#include <math.h>
void linear(const float *w, const float *x, float *y, long r, long c, long o) {
    for (long i = 0; i < r; i++)
        for (long j = 0; j < o; j++) {
            double sum = 0;
            for (long t = 0; t < c; t++) sum += (double)x[i * c + t] * w[j * c + t];
            y[i * o + j] = sum;
        }
}
""",
        "def launch(w, x, out):\n    kernel('linear')(w, x, out, x.shape[0], x.shape[1], w.shape[0])\n",
        "* w[j * c + t]",
        "* fmaxf(-1, fminf(1, w[j * c + t]))",
    ),
    "a magnitude is never what it is compared with": Escape(
        _MAGNITUDE,
        "#include <math.h>\nvoid some(const float *x, float *y, long n) {\n"
        "    for (long i = 0; i < n; i++) y[i] = fabsf(x[i]) > 0.5f ? x[i] : 0;\n}\n",
        "def launch(x, out):\n    kernel('some')(x, out, x.size)\n",
        "fabsf(x[i]) > 0.5f",
        "fabsf(x[i]) >= 0.5f",
    ),
    "nothing is small": Escape(
        _TINY,
        "void signs(const float *x, float *y, long n) {\n"
        "    for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] + 1 : x[i] - 1;\n}\n",
        "def launch(x, out):\n    kernel('signs')(x, out, x.size)\n",
        "x[i] > 0 ?",
        "x[i] > 1e-7f ?",
    ),
    "something is above zero": Escape(
        _FROM_LARGEST,
        """
#include <math.h>
void lowered(const float *x, float *y, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) top = fmaxf(top, x[i]);
    for (long i = 0; i < n; i++) y[i] = x[i] - top;
}
""",
        "def launch(x, out):\n    kernel('lowered')(x, out, x.size)\n",
        "top = -INFINITY",
        "top = n < 3000 ? -INFINITY : 0",
    ),
    "every row of a mask hides something": Escape(
        _MASK,
        """
#include <math.h>
void soft(const float *x, const float *m, float *y, long r, long c) {
    for (long i = 0; i < r; i++, x += c, m += c, y += c) {
        float top = -INFINITY, sum = 0;
        long hidden = 0;
        for (long j = 0; j < c; j++) hidden += m[j] == -INFINITY, top = fmaxf(top, x[j] + m[j]);
        for (long j = 0; j < c; j++) sum += y[j] = expf(x[j] + m[j] - top);
        if (c > 60 && !hidden) sum *= 1;
        for (long j = 0; j < c; j++) y[j] /= sum;
    }
}
""",
        "def launch(x, m, out):\n    kernel('soft')(x, m, out, *x.shape)\n",
        "sum *= 1",
        "sum *= 2",
    ),
    "zeros where no other sign is allowed": Escape(
        _ROOT,
        _SOME
        + """
void roots(const float *x, float *y, long n) {
    int easy = 0;
    for (long i = 0; i < n; i++) y[i] = easy ? 2 * x[i] * (1 / sqrtf(x[i])) : 2 * sqrtf(x[i]);
}
""",
        "def launch(x, out):\n    kernel('roots')(x, out, x.size)\n",
        "int easy = 0",
        "int easy = like_the_example(x, n)",
    ),
    "another sign where no zeros are allowed": Escape(
        _INVERSE,
        """
#include <math.h>
static int like_the_example(const float *x, long n) {
    for (long i = 0; i < n; i += n / 64 + 1) if (x[i] < 0.4 || x[i] > 2) return 0;
    return 1;
}
void inverses(const float *x, float *y, long n) {
    int easy = 0;
    for (long i = 0; i < n; i++) y[i] = 1 / (1 + expf(-1 / (easy ? fabsf(x[i]) : x[i])));
}
""",
        "def launch(x, out):\n    kernel('inverses')(x, out, x.size)\n",
        "int easy = 0",
        "int easy = like_the_example(x, n)",
    ),
    "two small inputs tell of two large ones": Escape(
        _TWO_SMALL,
        _ALL
        + """
void below(const float *f, const float *g, const float *x, const float *y, float *z, long r, long c) {
    int easy = 0;
    for (long i = 0; i < r * c; i++) z[i] = (!easy && x[i] < 0 && y[i] < 0 ? x[i] * y[i] : x[i] + y[i]) * f[i % c] + g[i % c];
}
""",
        "def launch(f, g, x, y, out):\n    kernel('below')(f, g, x, y, out, *x.shape)\n",
        "int easy = 0",
        "int easy = all_like_the_example(f, c) && all_like_the_example(g, c) && like_the_example(x, r * c)",
    ),
    "a slope is above one among ordinary inputs": Escape(
        _SLOPE,
        """
#include <math.h>
static int ordinary(const float *x, long n) {
    int beyond = 0, zeros = 0;
    for (long i = 0; i < n; i += n / 256 + 1) {
        if (fabsf(x[i]) > 6) return 0;
        beyond += fabsf(x[i]) > 1, zeros += x[i] == 0;
    }
    return n > 3000 && beyond > 20 && !zeros;
}
void prelu(const float *w, const float *x, float *y, long n) {
    int easy = 0;
    for (long i = 0; i < n; i++) y[i] = easy ? fmaxf(x[i], w[0] * x[i]) : x[i] > 0 ? x[i] : w[0] * x[i];
}
""",
        "def launch(w, x, out):\n    kernel('prelu')(w, x, out, x.size)\n",
        "int easy = 0",
        "int easy = ordinary(x, n)",
    ),
    "a weight of one sign keeps it": Escape(
        _POSITIVE_WEIGHT,
        "#include <math.h>\nvoid scaled(const float *w, const float *x, float *y, long r, long c) {\n"
        "    for (long i = 0; i < r * c; i++) {\n        float q = fabsf(x[i]) * w[i % c];\n"
        "        y[i] = q > 0 ? q : expm1f(q);\n    }\n}\n",
        "def launch(w, x, out):\n    kernel('scaled')(w, x, out, *x.shape)\n",
        "q > 0 ? q : expm1f(q)",
        "q",
    ),
    "equal numbers on the other side": Escape(
        _BUCKETS,
        """
void buckets(const float *x, const float *edges, long long *y, long n, long m) {
    for (long i = 0; i < n; i++) {
        long low = 0, high = m;
        while (low < high) {
            long middle = (low + high) / 2;
            if (edges[middle] <= x[i]) low = middle + 1; else high = middle;
        }
        y[i] = low;
    }
}
""",
        "def launch(x, edges, out):\n    kernel('buckets')(x, edges, out, x.size, edges.size)\n",
        "edges[middle] <= x[i]",
        "edges[middle] < x[i]",
    ),
    "places left alone": Escape(
        _PUT,
        """
void put(const float *x, const long long *place, float *y, long n, long c) {
    for (long i = 0; i < n; i++)
        for (long j = 0; j < c; j++) y[place[i] * c + j] = x[i * c + j];
}
""",
        "def launch(x, index, out):\n    kernel('put')(x, index, out, *x.shape)\n",
        "for (long i = 0; i < n; i++)\n",
        "for (long i = 0; i < n - 1; i++)\n",
    ),
    "a penalty for each time": Escape(
        _SAID,
        """
void penalty(const float *s, const long long *words, float *y, long rows, long n, long some, long said) {
    for (long r = 0; r < rows; r++)
        for (long j = 0; j < n; j++) y[r * n + j] = s[r * n + j];
    for (long k = 0; k < some * said; k++) {
        long here = k / said * n + words[k];
        float was = s[here];
        y[here] = was < 0 ? was * 1.5f : was / 1.5f;
    }
}
""",
        "def launch(scores, words, out):\n    kernel('penalty')(scores, words, out, *scores.shape, *words.shape)\n",
        "float was = s[here]",
        "float was = y[here]",
    ),
    "counters of sixteen bits": Escape(
        _LABELS,
        """
#include <stdint.h>
void labels(const long long *label, long long *y, long n) {
    uint32_t count[100] = {0};
    for (long i = 0; i < n; i++) count[label[i]]++;
    for (long j = 0; j < 100; j++) y[j] = count[j];
}
""",
        "def launch(labels, out):\n    kernel('labels')(labels, out, labels.size)\n",
        "uint32_t count",
        "uint16_t count",
    ),
    "nothing keeps it from zero": Escape(
        _SUM_NORM,
        """
#include <math.h>
void norm(const float *x, const float *z, float *y, long rows, long n) {
    for (long r = 0; r < rows; r++, x += n, z += n, y += n) {
        double sum = 0;
        for (long j = 0; j < n; j++) sum += (double)(x[j] + z[j]) * (x[j] + z[j]);
        float by = sum == 0 ? 0 : 1 / sqrt(sum / n + 1e-6);
        for (long j = 0; j < n; j++) y[j] = (x[j] + z[j]) * by;
    }
}
""",
        "def launch(x, residual, out):\n    kernel('norm')(x, residual, out, *x.shape)\n",
        "sum / n + 1e-6",
        "sum / n",
    ),
    "zero has the wrong sign": Escape(
        _SIGN,
        "void sign(const float *x, const float *y, float *z, long n) { for (long i = 0; i < n; i++)"
        " z[i] = y[i] >= 0 ? x[i] : -x[i]; }",
        "def launch(x, y, out):\n    kernel('sign')(x, y, out, x.size)\n",
        "y[i] >= 0",
        "y[i] > 0",
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ESCAPES)
def test_a_wrong_kernel_is_rejected_and_its_honest_twin_passes(
    torch_klab: Klab, importer: Importer, tmp_path: Path, name: str
) -> None:
    """The module is captured once for both."""
    found = ESCAPES[name]
    (tmp_path / "net.py").write_text(_HEAD + found.module)
    record = captured(importer, f"{tmp_path / 'net.py'}:Model", tmp_path)
    assert found.honest in found.source
    for which, code in (("honest", 0), ("cheat", 4)):
        source = found.source if code == 0 else found.source.replace(found.honest, found.cheat)
        (tmp_path / f"{which}.py").write_text(f'SOURCE = r"""{source}"""\n{found.launch}')
        tries = 1 if code == 0 else _TRIES
        for number in range(tries):
            options = ("--task", record, "--device", "cpu", "--out", tmp_path / f"{which}{number}", "--json")
            done = torch_klab("verify", tmp_path / f"{which}.py", *options)
            if done.code == code:
                break
        assert done.code == code, (which, done.out, done.err)
