"""The facts of a step, from what it is written from: its stores, the axes it goes over, and what there is to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernellab.lower.axes import Axis
from kernellab.lower.facts import StepFacts, Traffic
from kernellab.lower.inline import Store, tensor_name
from kernellab.lower.product import Product
from kernellab.lower.sizes import ONE, times_text
from kernellab.lower.tensors import Tensor, element_bytes
from kernellab.lower.values import Apply, Guard, Load, Reduce, walk
from kernellab.lower.work import Times, evaluated_apart, work_of

_COSTLY = ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf", "pow", "sin", "cos", "div", "sqrt", "rsqrt")
_PARAMETERS = {"PARTS": 512, "SPLITS": 8}
"""Sizes that are parameters, at one choice: the work hardly depends on it."""


@dataclass(frozen=True)
class Extent:
    """The axes of a step by what they are for."""

    rows: Sequence[Axis]
    along: Sequence[Axis]
    lanes: Sequence[Axis] = ()


def step_facts(
    form: str,
    stores: Sequence[Store],
    tensors: Mapping[str, Tensor],
    sizes: Mapping[str, int],
    choices: Sequence[str],
    extent: Extent,
    product: Product | None = None,
    fixed: Mapping[str, int] | None = None,
    model: Times = evaluated_apart,
) -> StepFacts:
    values = list(walk(*(s.value for s in stores)))
    lane = (extent.lanes or extent.along or stores[0].axes)[-1:]
    made = [tensor_name(s.tensor) for s in stores]
    loads = {v.tensor: v for v in values if isinstance(v, Load) and v.tensor not in made}
    return StepFacts(
        form=form,
        choices=tuple(choices),
        points=times_text(a.extent for a in stores[0].axes),
        rows=times_text(a.extent for a in extent.rows),
        length=times_text(a.extent for a in extent.along),
        lanes=times_text(a.extent for a in extent.lanes),
        read=tuple(_traffic(tensors[name], _lies(v, lane)) for name, v in loads.items()),
        written=tuple(_traffic(tensors[name], "next") for name in made),
        work=work_of(stores, {**_PARAMETERS, **sizes}, model),
        functions=sum(isinstance(v, Apply) and v.function in _COSTLY for v in values),
        reductions=sum(isinstance(v, Reduce) for v in values),
        guards=sum(isinstance(v, Guard) for v in values),
        product=_sides(product) if product else None,
        fixed=fixed,
    )


def _sides(product: Product) -> tuple[str, str, str, str]:
    batch, rows, columns, terms = (
        times_text(a.extent for a in axes) for axes in (product.batch, product.rows, product.columns, product.along)
    )
    return batch, rows, columns, terms


def _traffic(tensor: Tensor, lies: str) -> Traffic:
    return Traffic(times_text(tensor.shape), element_bytes(tensor.dtype), lies)


def _lies(load: Load, lane: Sequence[Axis]) -> str:
    """How the elements of a load that differ in the last axis alone lie in memory."""
    (index, *more) = load.indices() or (None,)
    if index is None or more or not lane or lane[0] not in index.axes:
        return "same"
    return "next" if dict(index.terms).get(lane[0]) == ONE else "apart"
