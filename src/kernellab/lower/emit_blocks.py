"""Kernels on tensor cores: blocks of two dims, made of groups of axes, in Triton.

Products of float32 numbers at full precision: `bf16x6` takes each number as three bfloat16 numbers and six of their nine
products, the smallest first; `tf32x3` is Triton's own; `ieee` uses no tensor core. A tensor core cuts off what its sums have
too many digits for, so every step begins a fresh sum, which is added to the whole in float32. An infinite element gives NaN
with `bf16x6`, because infinity has no parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernellab.lower.axes import Axis, Index
from kernellab.lower.c_text import factor_text, index_text
from kernellab.lower.emit_triton import TritonWriter
from kernellab.lower.inline import Store
from kernellab.lower.product import Operand, operand_of
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import Size, times_text
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import Value

_PARTS = '''\
@triton.jit
def parts(x):
    """Three bfloat16 numbers whose sum is x."""
    high = x.to(tl.bfloat16)
    rest = x - high.to(tl.float32)
    middle = rest.to(tl.bfloat16)
    return high, middle, (rest - middle.to(tl.float32)).to(tl.bfloat16)


'''
_SIX = '''\
@triton.jit
def six(a0, a1, a2, b0, b1, b2, total):
    """total + a times b: of the nine products of parts those that count, the smallest first."""
    total = tl.dot(a2, b0, total)
    total = tl.dot(a1, b1, total)
    total = tl.dot(a0, b2, total)
    total = tl.dot(a1, b0, total)
    total = tl.dot(a0, b1, total)
    return tl.dot(a0, b0, total)


'''
_DOT = '''\
@triton.jit
def dot(a, b, total, PRECISION: tl.constexpr):
    """total + a times b."""
    if PRECISION == "bf16x6":
        a0, a1, a2 = parts(a)
        b0, b1, b2 = parts(b)
        return six(a0, a1, a2, b0, b1, b2, total)
    elif PRECISION == "bf16" or PRECISION == "f16":
        short: tl.constexpr = tl.bfloat16 if PRECISION == "bf16" else tl.float16
        return tl.dot(a.to(short), b.to(short), total)
    else:
        return tl.dot(a, b, total, input_precision=PRECISION)


'''


def dot_text(body: str) -> str:
    """The functions that a text calls."""
    dot = _DOT if " dot(" in body else ""
    six = _SIX if dot or " six(" in body else ""
    return (_PARTS if dot or " parts(" in body else "") + six + dot


class BlockWriter(TritonWriter):
    """`short`: the 16-bit type that factors have, "" where they are float32; `groups`: axes by the mask that says which of
    their places there are."""

    def __init__(
        self, name: str, store: Store, tensors: dict[str, Tensor], short: str, groups: Mapping[str, Sequence[Axis]]
    ) -> None:
        super().__init__(name, [store], tensors, "flat", None)
        self._short, self._groups = short, groups

    def _spread(self, scope: Scope, name: str, text: str, mask: str, axes: Sequence[Axis]) -> None:
        """Axes from a number that counts all of them, and where that is one of theirs."""
        name = axes[0].name if len(axes) == 1 else name
        scope.add(f"{name} = {text}")
        scope.add(f"{mask} = {name} < {times_text(a.extent for a in axes)}")
        if len(axes) > 1:
            self._decode(scope, name, axes)

    def _place_text(self, text: str) -> str:
        return f"({text})"

    def _masked(self, free: frozenset[Axis], extra: str = "") -> str:
        own = [mask for mask, axes in self._groups.items() if free & frozenset(axes)]
        return " & ".join(part for part in (*own, extra) if part)

    # --- factors

    def _factor(self, factor: Value, scope: Scope, mask: str) -> str:
        """A block of a factor. Terms beyond the last are zero."""
        operand = operand_of(factor)
        if operand is not None:
            return self._element(operand, scope)
        cast = f".to(tl.{self._short})" if self._short else ""
        return f"tl.where({mask}, {self._text(factor, scope)}, 0.0){cast}"

    def _element(self, operand: Operand, scope: Scope) -> str:
        where, mask = self._place(operand, scope)
        wanted = self._short or "float32"
        cast = f".to(tl.{wanted})" if self._tensors[operand.load.tensor].dtype != wanted else ""
        return f"tl.load({operand.load.tensor} + {where}, mask={mask}, other=0){cast}"

    def _place(self, operand: Operand, scope: Scope) -> tuple[str, str]:
        """Where an element is, and whether it is one."""
        tests = [self._inside(index, extent, scope) for index, extent in operand.bounds]
        tests += [self._text(condition, scope) for condition in operand.conditions]
        mask = self._masked(operand.load.free, " & ".join(tests))
        return index_text(operand.load.indices()[0], lambda v: self._text(v, scope), "//"), mask

    def _inside(self, index: Index, extent: Size, scope: Scope) -> str:
        name = self._fresh("at")
        scalar = "" if self._masked(frozenset(index.axes)) else " + tl.zeros([1, 1], tl.int32)"
        scope.add(f"{name} = {index_text(index, lambda v: self._text(v, scope), '//')}{scalar}")
        return f"({name} >= 0) & ({name} < {factor_text(extent, '//')})"
