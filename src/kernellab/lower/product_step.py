"""A product on tensor cores as a step of a launch: its text, how it is called, what there is to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernellab.lower.axes import Axis
from kernellab.lower.emit_product import ProductWriter, choices
from kernellab.lower.fusion import Fusion
from kernellab.lower.names import FusionNames
from kernellab.lower.product import Product, operand_of, points
from kernellab.lower.sizes import times_text
from kernellab.lower.tensors import KernelStep, Space

_SHORT = ("bfloat16", "float16")
_SIDES = [128, 64, 256, 32, 16]
_PRECISIONS = {
    "ieee": ["bf16x6", "tf32x3", "ieee"], "tf32": ["tf32", "bf16x6"], "bf16": ["bf16", "tf32"], "f16": ["f16", "tf32"],
}  # fmt: skip
"""By the contract: what the factors may lose, the fastest first."""


def product_step(name: str, product: Product, names: FusionNames, fusion: Fusion, precision: str) -> KernelStep:
    """`precision`: the contract."""
    short = _short(product, names, fusion)
    text = ProductWriter(name, product, names.tensors, short).kernel()
    blocks = [(product.rows, "BLOCK_M"), (product.columns, "BLOCK_N")]
    grid = " * ".join([
        *([times_text(a.extent for a in product.batch)] if product.batch else []),
        *(f"triton.cdiv({times_text(a.extent for a in axes)}, {block})" for axes, block in blocks),
    ])  # fmt: skip
    given = [*text.tensors, *(f"{s}={s}" for s in (*text.sizes, *choices(short)))]
    call = f"    {name}[({grid},)]({', '.join(given)}, num_warps=WARPS, num_stages=STAGES)"
    return KernelStep(text, (call,), _space(product, fusion.sizes, short, precision))


def _short(product: Product, names: FusionNames, fusion: Fusion) -> str:
    """The 16-bit type of both factors: of all floats in the graph, or of the two tensors that are multiplied as they are."""
    floats: set[str] = {t.dtype for t in fusion.graph.types.values() if t.is_float}
    if len(floats) > 1:
        operands = [operand_of(f) for f in (product.one, product.two)]
        floats = {names.tensors[o.load.tensor].dtype if o is not None else "float32" for o in operands}
    (dtype, *more) = sorted(floats)
    return dtype if dtype in _SHORT and not more else ""


def _space(product: Product, sizes: Mapping[str, int], short: str, precision: str) -> Space:
    sides = {"BLOCK_M": _sides(product.rows, sizes), "BLOCK_N": _sides(product.columns, sizes)}
    space: dict[str, Sequence[int | str]] = {**sides, "BLOCK_K": [64, 32, 128] if short else [32, 64, 16]}
    space["GROUP_M"] = [8, 1, 4, 16]
    if not short:
        space |= {"PRECISION": _PRECISIONS[precision], "PROMOTE": [1, 2, 4]}
    small = max(sides["BLOCK_M"][0], sides["BLOCK_N"][0]) < _SIDES[0]
    return {**space, "STAGES": [3, 4, 2], "WARPS": [4, 8] if small else [8, 4]}


def _sides(axes: Sequence[Axis], sizes: Mapping[str, int]) -> list[int]:
    """Sides of a block; no longer than there are rows or columns, if that can be."""
    count = points(axes, sizes)
    return [s for s in _SIDES if s < 2 * count] or [_SIDES[-1]]
