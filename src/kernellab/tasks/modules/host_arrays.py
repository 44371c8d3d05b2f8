"""Between torch's tensors and the arrays of the host: inputs, outputs, and what is expected of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import Judged, accepted
from kernellab.tasks.expected import Array, Expected
from kernellab.tasks.modules.intervals import bounds, owed

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


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


def array_of_dtype(tensor: Any) -> Array:
    """A float tensor of any type, at least one axis, in the same type of NumPy's or of ml_dtypes'."""
    torch = need_torch()
    value = tensor.detach().cpu()
    value = value.reshape(1) if value.dim() == 0 else value.contiguous()
    if value.dtype == torch.bfloat16:
        return np.asarray(value.view(torch.int16).numpy().view(_BFLOAT16))
    return np.asarray(value.numpy())


def array(tensor: Any) -> Array:
    """An output as its buffer holds it: at least one axis, booleans as bytes."""
    torch = need_torch()
    value = tensor.detach().cpu()
    value = value.to(torch.uint8) if value.dtype == torch.bool else value
    return np.ascontiguousarray(value.reshape(1) if value.dim() == 0 else value)


def expected_of(judged: Judged) -> Expected:
    value = array(judged.pair.value)
    if judged.exact:
        return Expected(value, value, 0.0, value, value, True, _also(judged))
    scale = owed(judged)
    low, high = (array_of_dtype(bound) for bound in bounds(judged.pair.value, scale, judged.budget_ulp, judged.dtype))
    floor, most = judged.floor_ulp, judged.most_rms_ulp
    return Expected(
        value, array(scale), judged.budget_ulp, low, high, False, None, floor, most, wanted_ulp=judged.wanted_ulp
    )  # fmt: skip


def _also(judged: Judged) -> Callable[[Array], Array]:
    def also(got: Array) -> Array:
        value = judged.pair.value
        given = tensor_of(got).reshape(value.shape).to(value.device)
        return array(accepted(judged, given)).astype(bool)

    return also
