"""Products summed over: matrix products and convolutions, transposed ones too."""

from __future__ import annotations

from kernellab.graph.ops import algebra
from kernellab.graph.ops.pairs import Call, Pair, Scaled, present
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import bilinear
from kernellab.graph.ops.shapes import addmm, cdist_shape, convolution, matmul


def add_product(call: Call) -> Scaled:
    """beta * base + alpha * (a @ b)."""
    base, a, b = call.args[:3]
    alpha, beta = abs(call.kwargs.get("alpha", 1)), abs(call.kwargs.get("beta", 1))
    scale, terms = algebra.product_scale(a, b)
    return Scaled((alpha * scale + beta * base.scale,), terms)


def distance(call: Call) -> Scaled:
    """Distances between rows, by the root of summed squares (or another order)."""
    a, b, order = call.args[0], call.args[1], float(call.args[2])
    if order in (0.0, float("inf")):
        return Scaled((call.result.abs(),))
    one, other = _rows(a, -2), _rows(b, -3)
    gap = algebra.sub(one, other)
    each = (gap.value.abs() ** (order - 1) * gap.scale).sum(-1)
    whole = (each / call.result ** (order - 1)).nan_to_num(0.0, 0.0)
    return Scaled((whole.maximum(call.result.abs()),), float(gap.value.shape[-1]))


def trilinear(call: Call) -> Scaled:
    """A product of three summed over: a third of each factor's scale times the others' magnitudes."""
    factors = call.args[:3]
    sizes = [p.value.abs() for p in factors]
    parts = [
        call.run([*sizes[:i], p.scale, *sizes[i + 1 :], *call.args[3:]], call.kwargs) for i, p in enumerate(factors)
    ]
    terms = call.run([*(present(p.value) for p in factors), *call.args[3:]], call.kwargs)
    return Scaled((sum(parts[1:], parts[0]) / 3,), float(terms.max()) if terms.numel() else 0.0)


def _rows(x: Pair, dim: int) -> Pair:
    return Pair(x.value.unsqueeze(dim), x.scale.unsqueeze(dim), x.terms)


ROWS: list[Op] = [
    *ops("mm bmm mv dot matmul vdot", "contraction", bilinear(0, 1), matmul, linear=True),
    *ops("linear", "contraction", bilinear(0, 1, 2), None, linear=True),
    *ops("addmm baddbmm addmv", "contraction", add_product, addmm, linear=True),
    *ops("convolution", "contraction", bilinear(0, 1, 2), convolution, linear=True),
    *ops("_trilinear", "contraction", trilinear, None, linear=True),
    *ops("_cdist_forward", "contraction", distance, cdist_shape),
]
