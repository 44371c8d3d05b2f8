"""What a captured module must give: its graph in float64, by torch, in the laboratory's own process.

`TorchOracle` answers for arrays of the host. On a GPU the same graph runs on the device's tensors (graph/evaluate.py and
graph/scale.py take any), so that an oracle there differs from this one in where it puts the inputs, and in nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from kernellab.graph.evaluate import evaluate
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import Judged, accepted, judge
from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.modules.record import Precision
from kernellab.tasks.oracle import interval

_BITS = {"tf32": 10, "f16": 10, "bf16": 7}
_UNIT = {"tf32": 2.0**-10, "f16": 2.0**-10, "bf16": 2.0**-7}
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_one_at_a_time = threading.Lock()


class TorchOracle:
    def __init__(self, graph: GraphRecord, precision: Precision) -> None:
        self._graph = graph
        self._precision = precision

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        """The outputs in float64; the inputs may come as float64 too."""
        with _one_at_a_time, need_torch().no_grad():
            found = evaluate(self._graph, tensors(self._graph, inputs))
        return tuple(array(value) for value in found)

    def expect(self, dims: dict[str, int], inputs: list[Array]) -> list[Expected]:
        with _one_at_a_time, need_torch().no_grad():
            unit = _UNIT.get(self._precision, 0.0)
            given = tensors(self._graph, inputs)
            found = judge(self._graph, given, unit, rounding(self._precision))
            return [_expected(judged) for judged in found]

    def unscaled(self, inputs: list[Array]) -> tuple[str, ...]:
        """Operators without a scale rule: there an element's own magnitude is its scale."""
        with _one_at_a_time, need_torch().no_grad():
            found = judge(self._graph, tensors(self._graph, inputs))
        return tuple(sorted({op for judged in found for op in judged.unscaled}))


def rounding(precision: Precision) -> Callable[[Any], Any] | None:
    """What the contract may do to the operands of products; nothing for IEEE."""
    if precision not in _BITS:
        return None
    bits, torch = _BITS[precision], need_torch()

    def rounded(values: Any) -> Any:
        whole = values.float().contiguous().view(torch.int32)
        half = 1 << (22 - bits)
        return ((whole + half) & ~(2 * half - 1)).view(torch.float32).to(values.dtype)

    return rounded


def tensors(graph: GraphRecord, inputs: Sequence[Any]) -> dict[str, Any]:
    """The inputs by name, as the graph wants them: booleans and single numbers come in buffers of bytes and of one."""
    torch = need_torch()
    found = {}
    for entry, value in zip(graph.inputs, inputs, strict=True):
        tensor = tensor_of(value) if isinstance(value, np.ndarray) else value
        tensor = tensor.to(torch.bool) if entry.type.dtype == "bool" else tensor
        found[entry.name] = tensor if entry.type.extents else tensor.reshape(())
    return found


def tensor_of(values: Array) -> Any:
    torch = need_torch()
    values = np.ascontiguousarray(values)
    if values.dtype == _BFLOAT16:  # torch knows the type, but not NumPy's name for it
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def array(tensor: Any) -> Array:
    """An output as its buffer holds it: at least one axis, booleans as bytes."""
    torch = need_torch()
    value = tensor.detach().cpu()
    value = value.to(torch.uint8) if value.dtype == torch.bool else value
    return np.ascontiguousarray(value.reshape(1) if value.dim() == 0 else value)


def _expected(judged: Judged) -> Expected:
    value = array(judged.pair.value)
    if judged.exact:
        return Expected(value, value, 0.0, value, value, True, _also(judged))
    scale = array(judged.pair.scale.expand(judged.pair.value.shape))
    if judged.pair.exact:  # only moved or chosen: nothing may be off, but that a subnormal may have become zero
        scale = scale * 0
    found = interval(value, scale, judged.budget_ulp, judged.dtype)
    return replace(found, floor_ulp=judged.floor_ulp, most_rms_ulp=judged.most_rms_ulp)


def _also(judged: Judged) -> Callable[[Array], Array]:
    def also(got: Array) -> Array:
        given = tensor_of(got).reshape(judged.pair.value.shape)
        return array(accepted(judged, given)).astype(bool)

    return also
