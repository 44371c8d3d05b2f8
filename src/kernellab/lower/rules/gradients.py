"""Derivatives that stay whole in a captured backward pass: of convolutions and of pooling."""

from __future__ import annotations

from typing import Any

from kernellab.lower.axes import Index
from kernellab.lower.rules.contractions import convolved, group_of, met, reached, spread, transposed_convolved, windows
from kernellab.lower.rules.pointwise import div, f, mul
from kernellab.lower.rules.reductions import over
from kernellab.lower.site import NotLowered, Rule, Site
from kernellab.lower.sizes import Size, product_of
from kernellab.lower.values import Value, apply, guard, number, place


def convolution_backward(site: Site) -> Value:
    """What goes back to the input is a convolution the other way round; to a weight a sum over all places that it met at;
    to a bias the sum of its channel."""
    grad, x, weight, _, stride, padding, dilation, transposed, _, groups = (site.arg(i) for i in range(10))
    steps = stride, padding, dilation
    if site.part == 0:
        return (convolved if transposed else transposed_convolved)(site, grad, weight, *steps, groups)
    if site.part == 1:
        near, far = (x, grad) if transposed else (grad, x)
        return _of_weight(site, near, far, steps, groups)
    sample, _, *where = site.shape_of(grad)

    def at(inner: list[Index]) -> Value:
        return apply("float", site.at(grad, [inner[0], site.index[0], *inner[1:]]))

    return over(site, "sum", [sample, *where], at, "k")


def _of_weight(site: Site, near: Any, far: Any, steps: tuple[Any, Any, Any], groups: int) -> Value:
    """`near`: the side whose places are counted one by one; `far`: the one that the window reaches into from there."""
    first, second, *window = site.index
    own, beyond = site.shape_of(near), site.shape_of(far)
    filters, inside = site.shape[:2]
    group = group_of(first, filters, groups)
    stride, padding, dilation = (spread(v, len(window)) for v in steps)

    def at(inner: list[Index]) -> Value:
        sample, *where = inner
        places = met(where, window, (stride, dilation, padding))
        other = apply("float", site.at(far, [sample, group.times(inside) + second, *places]))
        other = guard(tuple(zip(places, beyond[2:], strict=True)), other, number(0.0))
        return mul(apply("float", site.at(near, [sample, first, *where])), other)

    return over(site, "sum", [own[0], *own[2:]], at, "k")


def average_pool_backward(site: Site) -> Value:
    """Each input gathers its share from the windows that it was in."""
    grad = site.arg(0)
    count = int(site.node.op.split(".")[1][8])
    size, stride, padding = windows(site, count, 2)
    ceil, include, divisor = (site.arg(i) for i in range(5, 8))
    if divisor is None and (ceil or (any(padding) and not include)):
        raise NotLowered("the derivative of an average whose windows are cut at the border")
    outer, where = list(site.index[:-count]), site.index[-count:]
    extents = [Size.of(s) for s in size]

    def at(inner: list[Index]) -> Value:
        def read(places: list[Index]) -> Value:
            return apply("float", site.at(grad, [*outer, *places]))

        return reached(where, inner, (stride, [1] * count, padding), site.shape_of(grad)[-count:], read)

    whole = f(divisor) if divisor is not None else apply("float", place(Index.of(product_of(extents))))
    return div(over(site, "sum", extents, at, "k"), whole)


def max_pool_backward(site: Site) -> Value:
    """Each input gathers from the windows whose largest element it was."""
    grad, source, found = site.arg(0), site.arg(1), site.arg(7)
    count = int(site.node.op.split(".")[1][8])
    size, stride, padding = windows(site, count, 2)
    dilation = spread(site.arg(5), count)
    outer, where = list(site.index[:-count]), site.index[-count:]
    own = where[0]
    for index, extent in zip(where[1:], site.shape_of(source)[-count + 1 :], strict=True):
        own = own.times(extent) + index

    def at(inner: list[Index]) -> Value:
        def read(places: list[Index]) -> Value:
            chosen = apply("eq", site.at(found, [*outer, *places]), place(own))
            return apply("where", chosen, apply("float", site.at(grad, [*outer, *places])), number(0.0))

        return reached(where, inner, (stride, dilation, padding), site.shape_of(grad)[-count:], read)

    return over(site, "sum", [Size.of(s) for s in size], at, "k")


RULES: dict[str, Rule] = {
    "convolution_backward": convolution_backward,
    "avg_pool2d_backward": average_pool_backward, "avg_pool3d_backward": average_pool_backward,
    "max_pool2d_with_indices_backward": max_pool_backward, "max_pool3d_with_indices_backward": max_pool_backward,
}  # fmt: skip
