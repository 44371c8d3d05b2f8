"""Reading and writing by index."""

from __future__ import annotations

from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import either, linear, same, same_open
from kernellab.graph.ops.shapes import embedding_shape, gather_shape, index_select_shape, index_shape, like_first

ROWS: list[Op] = [
    *ops("gather", "gather", same, gather_shape, linear=True),
    *ops("index _unsafe_index", "gather", same_open, index_shape, linear=True),
    *ops("index_select", "gather", same_open, index_select_shape, linear=True),
    *ops("embedding", "gather", same, embedding_shape, linear=True),
    *ops("scatter index_copy masked_scatter", "gather", same, like_first),
    *ops("index_put _unsafe_index_put scatter_add index_add", "gather", either(linear()), like_first, linear=True),
    *ops("_embedding_bag _embedding_bag_forward_only", "gather", linear(), None, linear=True),
    *ops("scatter_reduce", "gather", same, like_first),
]
