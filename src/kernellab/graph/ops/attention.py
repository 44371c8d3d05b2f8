"""Attention as one operator: two products with a softmax between."""

from __future__ import annotations

import math
from typing import Any

from kernellab.graph.ops import algebra
from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops


def _arguments(call: Call) -> dict[str, Any]:
    """By name: the forms of the operator differ in their order."""
    schema = getattr(call.torch.ops.aten, call.op.split(".")[1])._schemas[call.op.split(".")[2].replace("default", "")]
    names = [a.name for a in schema.arguments]
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def attention(call: Call) -> Scaled:
    given = _arguments(call)
    query, key, value = given["query"], given["key"], given["value"]
    if call.args and query.value.shape[-3] != key.value.shape[-3]:
        times = query.value.shape[-3] // key.value.shape[-3]
        key, value = _repeated(key, times), _repeated(value, times)
    factor = given.get("scale") or 1 / math.sqrt(query.value.shape[-1])
    turned = Pair(key.value.transpose(-2, -1), key.scale.transpose(-2, -1), key.terms)
    scores = algebra.times(algebra.matmul(query, turned), factor)
    mask = given.get("attn_mask") if given.get("attn_mask") is not None else given.get("attn_bias")
    if mask is not None:
        scores = _masked(scores, mask)
    if given.get("is_causal"):
        seen = call.torch.ones(scores.value.shape[-2:], dtype=call.torch.bool, device=scores.value.device).tril()
        scores = Pair(scores.value.masked_fill(~seen, -math.inf), scores.scale.masked_fill(~seen, 0.0), scores.terms)
    result = algebra.matmul(algebra.softmax(scores, -1), value)
    rest = (None if r is None else r.double().abs() for r in call.results[1:])
    return Scaled((result.scale, *rest), result.terms)


def _repeated(x: Pair, times: int) -> Pair:
    return Pair(x.value.repeat_interleave(times, -3), x.scale.repeat_interleave(times, -3), x.terms)


def _masked(scores: Pair, mask: Pair) -> Pair:
    if mask.is_float:
        scale = mask.scale.where(mask.value.isfinite(), mask.scale * 0)
        return algebra.add(scores, Pair(mask.value, scale, mask.terms))
    hidden = ~mask.value
    return Pair(scores.value.masked_fill(hidden, -math.inf), scores.scale.masked_fill(hidden, 0.0), scores.terms)


ROWS: list[Op] = [
    *ops(
        "scaled_dot_product_attention _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_for_cpu "
        "_scaled_dot_product_efficient_attention _scaled_dot_product_attention_math", "attention", attention, None,
    ),
]  # fmt: skip
