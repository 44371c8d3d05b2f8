"""Recurrent networks that export keeps whole. They have no scale rule yet, and an outcome says so."""

from __future__ import annotations

from kernellab.graph.ops.row import Op, ops

ROWS: list[Op] = ops("lstm gru rnn_tanh rnn_relu", "recurrent", None, None)
