"""Moving elements without changing them: views, copies, joins, padding."""

from __future__ import annotations

from typing import Any

from kernellab.graph.ops import shapes
from kernellab.graph.ops.pairs import Call, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import same, same_open


def pad(call: Call) -> Scaled:
    """What is padded in is exact, but has a magnitude."""
    value = abs(call.argument(2, "value", 0))
    scale = call.run([call.args[0].scale, call.args[1], value], {})
    return Scaled((scale if call.result.is_floating_point() else scale * 0,), exact=call.args[0].exact)


def _reshape(torch: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A record has no strides: whether this copies is nobody's business."""
    return args[0].reshape(args[1])


ROWS: list[Op] = [
    *ops(
        "view reshape _unsafe_view _reshape_copy view_copy", "layout", same_open, shapes.view, linear=True, view=True,
        meaning=_reshape,
    ),
    *ops("permute permute_copy", "layout", same_open, shapes.permute, linear=True, view=True),
    *ops("transpose transpose_copy", "layout", same_open, shapes.transpose, linear=True, view=True),
    *ops("t", "layout", same_open, shapes.transpose_last, linear=True, view=True),
    *ops("unsqueeze unsqueeze_copy", "layout", same_open, shapes.unsqueeze, linear=True, view=True),
    *ops("squeeze squeeze_copy", "layout", same_open, shapes.squeeze, linear=True, view=True),
    *ops("expand expand_copy", "layout", same_open, shapes.expand, linear=True, view=True),
    *ops("slice slice_copy", "layout", same_open, shapes.slice_, linear=True, view=True),
    *ops("select select_copy", "layout", same_open, shapes.select, linear=True, view=True),
    *ops("diagonal diagonal_copy unfold unfold_copy", "layout", same_open, None, linear=True, view=True),
    *ops("alias alias_copy detach lift_fresh", "layout", same_open, shapes.like_first, linear=True, view=True),
    *ops("split_with_sizes split_with_sizes_copy split", "layout", same_open, shapes.split, linear=True, view=True),
    *ops("unbind unbind_copy", "layout", same_open, shapes.unbind, linear=True, view=True),
    *ops("clone contiguous lift_fresh_copy copy flip roll tril triu", "layout", same_open, shapes.like_first, linear=True),
    *ops("cat", "layout", same_open, shapes.cat, linear=True),
    *ops("stack", "layout", same_open, None, linear=True),
    *ops("repeat", "layout", same_open, shapes.repeat, linear=True),
    *ops("constant_pad_nd", "layout", pad, shapes.pad),
    *ops(
        "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d",
        "layout", same_open, shapes.pad, linear=True,
    ),
    *ops("pixel_shuffle pixel_unshuffle channel_shuffle rot90", "layout", same_open, None, linear=True),
    *ops("slice_scatter select_scatter diagonal_scatter", "layout", same, shapes.like_first, linear=True),
]  # fmt: skip
