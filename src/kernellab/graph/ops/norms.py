"""Normalisations, as they are decomposed: the mean taken off, the variance, its root, weight and bias."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernellab.graph.ops import algebra
from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.shapes import batch_norm_shape, first_alone, group_norm_shape, layer_norm_shape, like_first


def _answer(y: Pair, call: Call, *more: Pair) -> Scaled:
    scales = [y.scale, *(p.scale for p in more)]
    shaped = [
        None
        if r is None
        else scales[i].reshape(r.shape)
        if i < len(scales) and scales[i].numel() == r.numel()
        else r.abs()
        for i, r in enumerate(call.results)
    ]
    return Scaled(tuple(shaped), y.terms)


def layer_norm(call: Call) -> Scaled:
    x, shape, weight, bias, eps = call.args
    dims = list(range(x.value.dim() - len(shape), x.value.dim()))
    centre, spread = algebra.moments(x, dims)
    y = algebra.affine(algebra.normalise(x, centre, spread, eps), weight, bias, list(shape))
    return _answer(y, call, centre, algebra.rsqrt(spread, eps))


def group_norm(call: Call) -> Scaled:
    x, weight, bias, n, c, _, groups, eps = call.args
    grouped = algebra.reshape(x, (n, groups, -1))
    centre, spread = algebra.moments(grouped, [2])
    flat = algebra.reshape(algebra.normalise(grouped, centre, spread, eps), x.value.shape)
    y = algebra.affine(flat, weight, bias, [1, c, *(1 for _ in x.value.shape[2:])])
    return _answer(y, call, centre, algebra.rsqrt(spread, eps))


def _channels(x: Pair) -> list[int]:
    return [1, x.value.shape[1], *(1 for _ in x.value.shape[2:])]


def batch_norm_inference(call: Call) -> Scaled:
    x, weight, bias, mean, var, _, eps = call.args
    shape = _channels(x)
    y = algebra.normalise(x, algebra.reshape(mean, shape), algebra.reshape(var, shape), eps)
    return _answer(algebra.affine(y, weight, bias, shape), call)


def batch_norm(call: Call) -> Scaled:
    """With the batch's own statistics, which instance norm uses."""
    x, weight, bias = call.args[:3]
    eps = call.args[-1]
    shape = _channels(x)
    centre, spread = algebra.moments(x, [0, *range(2, x.value.dim())])
    y = algebra.affine(algebra.normalise(x, centre, spread, eps), weight, bias, shape)
    return _answer(y, call, centre, algebra.rsqrt(spread, eps))


def batch_norm_either(call: Call) -> Scaled:
    """The form that says in an argument whose statistics are used."""
    x, weight, bias, mean, var, training, momentum, eps = call.args
    rule, args = (
        (batch_norm, [x, weight, bias, eps]) if training else (batch_norm_inference, [x, weight, bias, mean, var])
    )
    args = args if training else [*args, momentum, eps]
    return rule(replace(call, args=args))


def rms_norm(call: Call) -> Scaled:
    x, shape, weight, eps = call.args
    dims = list(range(x.value.dim() - len(shape), x.value.dim()))
    spread = algebra.mean(algebra.square(x), dims, True)
    factor = algebra.rsqrt(spread, 2.0**-23 if eps is None else eps)
    return _answer(algebra.affine(algebra.mul(x, factor), weight, None, list(shape)), call, factor)


def softmax(call: Call) -> Scaled:
    y = algebra.softmax(call.args[0], call.args[1])
    return Scaled((y.scale,), y.terms)


def log_softmax(call: Call) -> Scaled:
    y = algebra.log_softmax(call.args[0], call.args[1])
    return Scaled((y.scale,), y.terms)


def logsumexp(call: Call) -> Scaled:
    x: Pair = call.args[0]
    dims, keep = call.args[1], bool(call.argument(2, "keepdim", False))
    share = (x.value - x.value.logsumexp(dims, keepdim=True)).exp()
    total = (share * x.scale.nan_to_num(0.0, 0.0)).sum(dims, keepdim=keep)
    return Scaled(((1 + total).maximum(call.result.abs()),), algebra.shares(share, dims))


def _softmax(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A third argument asks for float32 of float16; in float64 there is nothing to widen."""
    x = args[0].float() if args[2] and args[0].element_size() == 2 else args[0]
    return torch.softmax(x, args[1])


def _log_softmax(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    x = args[0].float() if args[2] and args[0].element_size() == 2 else args[0]
    return torch.log_softmax(x, args[1])


ROWS: list[Op] = [
    *ops("native_layer_norm", "norm", layer_norm, layer_norm_shape),
    *ops("native_group_norm", "norm", group_norm, group_norm_shape),
    *ops("_native_batch_norm_legit_no_training", "norm", batch_norm_inference, first_alone),
    *ops("_native_batch_norm_legit _native_batch_norm_legit_functional", "norm", batch_norm, batch_norm_shape),
    *ops("native_batch_norm", "norm", batch_norm_either, None),
    *ops("_fused_rms_norm", "norm", rms_norm, None),
    *ops("_softmax", "softmax", softmax, like_first, meaning=_softmax),
    *ops("_log_softmax", "softmax", log_softmax, like_first, meaning=_log_softmax),
    *ops("logsumexp", "softmax", logsumexp, None),
]
