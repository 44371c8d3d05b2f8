"""Reading and writing by index."""

from __future__ import annotations

from dataclasses import replace

from kernellab.graph.ops.open_places import added, read, written
from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import counted, either, exact, linear, same, selecting, smooth
from kernellab.graph.ops.sent import Sent
from kernellab.graph.ops.shapes import embedding_shape, gather_shape, index_select_shape, index_shape, like_first


def added_whole(call: Call) -> Scaled:
    """Integers added up by index, as a histogram does: an open index takes its number from one place to another."""
    base, *others = call.pairs()
    given: Pair = others[-1]
    adds = call.argument(3, "accumulate", False) if "index_put" in call.op else True
    sent = Sent.of(call)
    if not adds or given.is_float or sent is None:
        return exact(call)
    may_move = sent.may_move(given.value.double().abs() + given.scale)
    return Scaled((base.scale + sent.added(sent.at_home, given.scale).abs() + may_move,), exact=True)


def reduced(call: Call) -> Scaled:
    """What goes to one place, added, averaged, multiplied, or the largest or smallest of it."""
    how = call.argument(4, "reduce")
    if how in ("amax", "amin") or not call.floats():
        return selecting(call) if call.floats() else exact(call)
    added_up = replace(call, args=[*call.args[:4], "sum", *call.args[5:]])
    scale = smooth(call).scales[0] if how == "prod" else call.apply(lambda p: p.scale)[0].abs()
    return Scaled((scale,), counted(added_up))


ROWS: list[Op] = [
    *ops("gather", "gather", read, gather_shape, linear=True),
    *ops("index _unsafe_index", "gather", read, index_shape, linear=True),
    *ops("index_select", "gather", read, index_select_shape, linear=True),
    *ops("embedding", "gather", read, embedding_shape, linear=True),
    *ops("scatter", "gather", written, like_first),
    *ops("index_copy masked_scatter", "gather", same, like_first),
    *ops("index_put _unsafe_index_put", "gather", either(added, added_whole), like_first, linear=True),
    *ops("scatter_add index_add", "gather", either(added, added_whole), like_first, linear=True),
    *ops("_embedding_bag _embedding_bag_forward_only", "gather", linear(), None, linear=True),
    *ops("scatter_reduce", "gather", reduced, like_first),
]
