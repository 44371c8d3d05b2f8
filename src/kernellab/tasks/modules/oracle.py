"""What a captured module must give: its graph in float64, by torch, in the laboratory's own process.

Where the task is tried on a GPU, the graph runs there too: graph/evaluate.py and graph/scale.py take any tensors, and so do
the intervals. What comes back are arrays of the host, the same either way. Where the GPU has too little memory for it, the
processor takes over.
Covered: the answers lie in memory of this process, which no runner maps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from kernellab.core.errors import EnvironmentFault
from kernellab.core.targets import torch_name
from kernellab.graph.evaluate import evaluate
from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import Judged, judge
from kernellab.tasks.expected import Array, Compared, DeviceCase, Expected, Known, Right
from kernellab.tasks.modules.device_case import ModuleCase
from kernellab.tasks.modules.host_arrays import array, array_of_dtype, expected_of, tensor_of, tensors
from kernellab.tasks.modules.known import KnownAnswers
from kernellab.tasks.modules.record import Precision

_BITS = {"tf32": 10, "f16": 10, "bf16": 7}
_UNIT = {"tf32": 2.0**-10, "f16": 2.0**-10, "bf16": 2.0**-7}
T = TypeVar("T")
_one_at_a_time = threading.Lock()


class TorchOracle:
    def __init__(self, graph: GraphRecord, precision: Precision, device: str = "cpu") -> None:
        self._graph = graph
        self._precision = precision
        self._device = device

    def on(self, kind: str) -> TorchOracle:
        return TorchOracle(self._graph, self._precision, torch_name(kind))

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        """The outputs in float64; the inputs may come as float64 too."""
        with _one_at_a_time, need_torch().no_grad():
            found = evaluate(self._graph, tensors(self._graph, inputs))
        return tuple(array(value) for value in found)

    def expect(self, dims: dict[str, int], inputs: Sequence[Any]) -> list[Expected]:
        return self._where_there_is_room(inputs, lambda given: [expected_of(judged) for judged in self._judged(given)])

    def plain(self, inputs: Sequence[Any]) -> list[Array]:
        """The outputs in float64, and then as the module is written; how far they may be off is not asked."""
        graph, written = self._graph, self._graph.written or self._graph

        def values(given: dict[str, Any]) -> list[Array]:
            as_written = dict(zip((i.name for i in written.inputs), given.values(), strict=True))
            found = [*evaluate(graph, given), *evaluate(written, as_written, wide=False)]
            return [array_of_dtype(v) if v.is_floating_point() else array(v) for v in found]

        return self._where_there_is_room(inputs, values)

    def there(self, values: Array) -> Any:
        """An input where answers are made, for whoever gives it again and again."""
        return tensor_of(values).to(self._device if self.is_there() else "cpu")

    def is_there(self) -> bool:
        """Whether answers are made on a device."""
        return self._device != "cpu" and bool(need_torch().cuda.is_available())

    def _where_there_is_room(self, inputs: Sequence[Any], made: Callable[[dict[str, Any]], list[T]]) -> list[T]:
        """On the device where there is one with room for it, else on the processor."""
        with _one_at_a_time, need_torch().no_grad():
            found = self._on_device(inputs, made) if self.is_there() else None
            return found or made(self._given("cpu", inputs))

    def _on_device(self, inputs: Sequence[Any], made: Callable[[dict[str, Any]], list[T]]) -> list[T] | None:
        """None where the graph does not fit into its memory."""
        torch = need_torch()
        _honest_float32(torch)
        try:
            return made(self._given(self._device, inputs))
        except torch.OutOfMemoryError:
            return None
        finally:
            torch.cuda.empty_cache()  # buffers of kernels need the room

    def _given(self, device: str, inputs: Sequence[Any]) -> dict[str, Any]:
        return {name: tensor.to(device) for name, tensor in tensors(self._graph, inputs).items()}

    def _judged(self, given: Mapping[str, Any], alone: bool = False) -> list[Judged]:
        return judge(self._graph, given, _UNIT.get(self._precision, 0.0), rounding(self._precision), alone)

    def known(self, dims: dict[str, int], seed: int) -> Known | None:
        """Inputs with known answers, all of it on the device; None where that has no room for them."""
        torch = need_torch()
        with _one_at_a_time, torch.no_grad():
            _honest_float32(torch)
            found = self._answers.known(dims, seed)
            self._settle(torch)
        return found

    def draw(self, dims: dict[str, int], seed: int) -> list[Any]:
        """New inputs on the device."""
        torch = need_torch()
        with _one_at_a_time, torch.no_grad():
            found = self._answers.draw(dims, seed)
            self._settle(torch)
        return found

    def case(self, dims: dict[str, int], distribution: str, seed: int) -> DeviceCase | None:
        """Its answers are made when there is something to compare with them."""
        torch = need_torch()
        with _one_at_a_time, torch.no_grad():
            try:
                found = self._answers.case(dims, distribution, seed)
            except torch.OutOfMemoryError:
                return None
            finally:
                self._settle(torch)
        return _Guarded(found, self._settle)

    @cached_property
    def _answers(self) -> KnownAnswers:
        return KnownAnswers(self._graph, self._device, self._judged, partial(tensors, self._graph))

    def _settle(self, torch: Any) -> None:
        """What others read next is complete, and memory that is not held is theirs."""
        if self._device != "cpu":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def unscaled(self, inputs: list[Array]) -> tuple[str, ...]:
        """Operators without a scale rule: there an element's own magnitude is its scale."""
        with _one_at_a_time, need_torch().no_grad():
            found = judge(self._graph, tensors(self._graph, inputs))
        return tuple(sorted({op for judged in found for op in judged.unscaled}))


class _Guarded:
    """A case that has torch for itself while it compares."""

    def __init__(self, case: ModuleCase, settle: Callable[[Any], None]) -> None:
        self._case, self._settle = case, settle
        self.inputs: Sequence[Any] = case.inputs

    def compare(self, outputs: Sequence[Any], right: Right) -> list[Compared] | None:
        torch = need_torch()
        with _one_at_a_time, torch.no_grad():
            _honest_float32(torch)
            try:
                return self._case.compare(outputs, right)
            except torch.OutOfMemoryError:
                raise EnvironmentFault("at this shape the answers in float64 do not fit into the device's memory",
                                       "take a smaller one with --shape, or free the device") from None  # fmt: skip
            finally:
                self._settle(torch)


def _honest_float32(torch: Any) -> None:
    """What the graph costs in its own types is part of the budget: no shorter sums and no shorter operands there."""
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = matmul.allow_bf16_reduced_precision_reduction = False


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
