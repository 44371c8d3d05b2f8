"""Loop form -> C, of what is sent: every place begins with what was there, then each element is added where it goes."""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.lower.c_text import factor_text, index_text
from kernellab.lower.emit_c import CWriter, closed
from kernellab.lower.inline import Store, tensor_name
from kernellab.lower.rebuild import Placed
from kernellab.lower.rules.layout import spot as placed
from kernellab.lower.scope import Scope
from kernellab.lower.sends import Send
from kernellab.lower.tensors import Tensor

_OWN_TYPE = ("float32", "float64", "int32", "int64")
"""What can be added up in its own place."""


class SendWriter(CWriter):
    """One after the other: two elements may go to one place."""

    def __init__(self, name: str, stores: Sequence[Store], tensors: dict[str, Tensor], send: Send) -> None:
        super().__init__(name, stores, tensors, lanes=False)
        self._send = send

    def _nest(self) -> str:
        (store,), send = self._stores, self._send
        top = Scope(None, (), f"void {self._name}(@PARAMS@)")
        scope = self._loops(top, self._axes)
        self._store(Store(store.tensor, store.index, send.before, store.axes), scope)
        closed(scope, top, self._parallel)
        scope = self._loops(top, (*send.whole.axes, *(a for a in self._axes if a != send.along)))
        tests = [
            f"(unsigned long)({index_text(i, lambda v: self._text(v, scope))}) < (unsigned long){factor_text(e)}"
            for i, e in send.bounds
        ]
        where = self._named(send.spot, scope, self._text(send.spot, scope))
        tests.append(f"(unsigned long){where} < (unsigned long){factor_text(send.along.extent)}")
        inside = Scope(scope, (), f"if ({' && '.join(tests)})", branch=True)
        target = Placed(send.along, placed(send.spot, send.along.extent)).index(store.index[0], {})
        place = index_text(target, lambda v: self._text(v, inside))
        inside.add(f"{tensor_name(store.tensor)}[{place}] += {self._text(send.body, inside)};")
        scope.add(inside)
        closed(scope, top, lambda _: None)
        return top.text(0)


def can_send(stores: Sequence[Store], tensors: dict[str, Tensor]) -> bool:
    return tensors[tensor_name(stores[0].tensor)].dtype in _OWN_TYPE
