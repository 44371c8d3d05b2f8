"""Operators that only a backward has. Each is linear in the gradient that comes in; most need nothing else."""

from __future__ import annotations

import itertools
import math
from typing import Any

from kernellab.graph.ops.open_places import added
from kernellab.graph.ops.pairs import Call, Pair, Scaled, Tensor, present
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import jump, linear


def convolution(call: Call) -> Scaled:
    """Gradients of input and weight are products with the other one; the bias's is a sum."""
    grad, x, weight = call.args[:3]
    rest = call.args[3:]

    def run(g: Tensor, a: Tensor, b: Tensor) -> Any:
        return call.run([g, a, b, *rest], call.kwargs)

    one = run(grad.scale, x.value.abs(), weight.value.abs())
    other = run(grad.value.abs(), x.scale, weight.scale)
    counts = run(*(present(p.value) for p in (grad, x, weight)))
    scales = [None if a is None else ((a + b) / 2).abs() for a, b in zip(one[:2], other[:2], strict=True)]
    terms = tuple(0.0 if c is None or not c.numel() else float(c.abs().max()) for c in counts)
    return Scaled((*scales, None if one[2] is None else one[2].abs()), terms)


def _window(call: Call) -> float:
    """Elements in the window of an average: what turns shares into terms."""
    kernel = call.args[2]
    return float(math.prod(kernel if len(kernel) > 1 else kernel * (call.result.dim() - 2)))


def _spread(call: Call) -> float:
    return float(call.result.numel() / max(1, call.args[0].value.numel()))


def max_pool(call: Call) -> Scaled:
    """To the winner of each window. Where two elements are within reach of winning, either may get the gradient."""
    plain = linear()(call)
    x: Pair = call.args[1]
    (scale,) = plain.scales
    if x.exact or scale is None:
        return plain
    return Scaled((scale.maximum(jump(call, _open(call, x))),), plain.terms)


def _open(call: Call, x: Pair) -> Tensor:
    """What each element gets of windows that it may or may not have won."""
    grad = call.args[0].value.abs()
    dims = grad.dim() - 2
    kernel, stride, padding, dilation = (_each(call.args[i], dims) for i in (2, 3, 4, 5))
    stride = stride or kernel
    pads = [p for n in reversed(padding) for p in (n, n + max(kernel) * max(dilation))]
    value = call.torch.nn.functional.pad(x.value, pads, value=-math.inf)
    reach = call.torch.nn.functional.pad(call.reach(x), pads)

    def places(offset: tuple[int, ...]) -> tuple[Any, ...]:
        cut = (
            slice(o * d, o * d + s * (n - 1) + 1, s)
            for o, d, s, n in zip(offset, dilation, stride, grad.shape[2:], strict=True)
        )
        return (slice(None), slice(None), *cut)

    offsets = [places(o) for o in itertools.product(*(range(k) for k in kernel))]
    best = value[offsets[0]]
    for at in offsets[1:]:
        best = best.maximum(value[at])
    widest = reach[offsets[0]]
    for at in offsets[1:]:
        widest = widest.maximum(reach[at])
    near = [value[at] + reach[at] + widest >= best for at in offsets]
    unsure = grad * (sum(n.double() for n in near) > 1)
    mass = value.new_zeros(value.shape)
    for at, won in zip(offsets, near, strict=True):
        mass[at] += unsure * won
    inside = tuple(slice(p, p + n) for p, n in zip(padding, x.value.shape[2:], strict=True))
    return mass[(slice(None), slice(None), *inside)]


def _each(value: Any, dims: int) -> list[int]:
    return list(value) if len(value) != 1 else list(value) * dims


def distance(call: Call) -> Scaled:
    """grad (x1 - x2) / distance, summed, for the Euclidean distance; another order has no rule."""
    grad, a, b, order, far = call.args[:5]
    if float(order) != 2.0:
        return Scaled((None,))
    gap = a.value.unsqueeze(-2) - b.value.unsqueeze(-3)
    width = a.scale.unsqueeze(-2) + b.scale.unsqueeze(-3)
    share = (1 / far.value).nan_to_num(0.0, 0.0, 0.0).unsqueeze(-1)
    size = grad.value.abs().unsqueeze(-1)
    each = share * (size * width + gap.abs() * grad.scale.unsqueeze(-1))
    each = each + size * gap.abs() * share**2 * far.scale.unsqueeze(-1)
    return Scaled((each.sum(-2),), float(b.value.shape[-2]))


_RESAMPLE = (
    "upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward upsample_linear1d_backward "
    "upsample_bilinear2d_backward upsample_trilinear3d_backward upsample_bicubic2d_backward"
)
_PADS = (
    "reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
    "replication_pad2d_backward replication_pad3d_backward"
)
ROWS: list[Op] = [
    *ops("convolution_backward", "contraction", convolution, None, linear=True),
    *ops("avg_pool2d_backward avg_pool3d_backward", "window", linear(_window), None, linear=True),
    *ops("_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward", "window", linear(_spread), None, linear=True),
    *ops("max_pool2d_with_indices_backward max_pool3d_with_indices_backward", "window", max_pool, None),
    *ops("adaptive_max_pool2d_backward adaptive_max_pool3d_backward", "window", linear(), None),
    *ops(_RESAMPLE, "window", linear(), None, linear=True),
    *ops(_PADS, "layout", linear(), None, linear=True),
    *ops("embedding_dense_backward", "gather", added, None, linear=True),
    *ops("unfold_backward", "gather", linear(), None, linear=True),
    *ops("_cdist_backward", "contraction", distance, None),
]
