"""Moving elements: another index, and nothing computed."""

from __future__ import annotations

from kernellab.graph.record import Ref
from kernellab.lower.axes import Index, Looked, digits, linear
from kernellab.lower.rules.pointwise import floor_remainder
from kernellab.lower.site import NotLowered, Rule, Site, dims
from kernellab.lower.sizes import ONE, ZERO, Size
from kernellab.lower.values import Value, apply, guard, number, place, size_value


def view(site: Site) -> Value:
    source = site.arg(0)
    return site.at(source, digits(linear(site.index, site.shape), site.shape_of(source)))


def permute(site: Site) -> Value:
    order = [d % len(site.index) for d in site.arg(1)]
    index = [Index()] * len(order)
    for position, dim in enumerate(order):
        index[dim] = site.index[position]
    return site.at(site.arg(0), index)


def transpose(site: Site) -> Value:
    rank = len(site.index)
    a, b = (site.arg(1) % rank, site.arg(2) % rank) if len(site.node.args) > 2 else (rank - 2, rank - 1)
    index = list(site.index)
    if rank > 1:
        index[a], index[b] = index[b], index[a]
    return site.at(site.arg(0), index)


def unsqueeze(site: Site) -> Value:
    dim = site.arg(1) % len(site.index)
    return site.at(site.arg(0), [i for d, i in enumerate(site.index) if d != dim])


def squeeze(site: Site) -> Value:
    """Whichever dims went, they had one element."""
    source = site.arg(0)
    left = iter(site.index)
    listed = site.arg(1)
    own = site.shape_of(source)
    gone = set(dims(listed, len(own))) if listed is not None else set(range(len(own)))
    return site.at(source, [Index() if d in gone and e == ONE else next(left) for d, e in enumerate(own)])


def same(site: Site) -> Value:
    return site.at(site.arg(0), site.index)


def expand(site: Site) -> Value:
    return site.operand(site.arg(0))


def _start(value: object, extent: Size, default: Size) -> Size:
    """Where a slice begins or ends, clipped to the extent as far as can be told."""
    if value is None:
        return default
    size = Size.of(value)  # type: ignore[arg-type]
    if size.number is not None and size.number < 0:
        size = extent + size
    if size.at_least(extent):
        return extent
    return size


def slice_(site: Site) -> Value:
    source, dim = site.arg(0), site.arg(1, "dim", 0)
    own = site.shape_of(source)
    dim %= len(own)
    start = _start(site.arg(2, "start"), own[dim], ZERO)
    step = Size.of(site.arg(4, "step", 1))
    index = list(site.index)
    index[dim] = index[dim].times(step).shifted(start)
    return site.at(source, index)


def select(site: Site) -> Value:
    source, dim, which = site.arg(0), site.arg(1), site.arg(2)
    own = site.shape_of(source)
    dim %= len(own)
    index = list(site.index)
    index.insert(dim, Index.of(_start(which, own[dim], ZERO)))
    return site.at(source, index)


def split(site: Site) -> Value:
    """The parts before this one take their lengths."""
    source, sizes, dim = site.arg(0), site.arg(1), site.arg(2, "dim", 0)
    rank = len(site.index)
    index = list(site.index)
    each = [sizes] * site.part if isinstance(sizes, int | Size) else sizes[: site.part]
    before = ZERO
    for size in each:
        before = before + Size.of(size)
    index[dim % rank] = index[dim % rank].shifted(before)
    return site.at(source, index)


def cat(site: Site) -> Value:
    """One guard inside the other: the tensor whose turn it is. The last has one too: a GPU loads what it does not choose."""
    tensors: list[Ref] = site.node.args[0]  # type: ignore[assignment]
    dim = site.arg(1, "dim", 0) % len(site.index)
    parts, before = [], ZERO
    for ref in tensors:
        index = list(site.index)
        index[dim] = index[dim].shifted(-before)
        extent = site.shape_of(ref)[dim]
        parts.append((index[dim], extent, ref, index))
        before = before + extent
    whole: Value = number({"float": 0.0, "int": 0, "bool": False}[site.kind])
    for position, extent, ref, index in reversed(parts):
        whole = guard(((position, extent),), apply(site.kind, site.at(ref, index)), whole)
    return whole


def pad(site: Site) -> Value:
    source, amounts, fill = site.arg(0), site.arg(1), site.arg(2, "value", 0)
    own, index, bounds = site.shape_of(source), list(site.index), []
    for number_, extent in enumerate(reversed(own)):
        if 2 * number_ < len(amounts):
            dim = len(own) - 1 - number_
            index[dim] = index[dim].shifted(-Size.of(amounts[2 * number_]))
            bounds.append((index[dim], extent))
    other = number(float(fill) if site.kind == "float" else int(fill) if site.kind == "int" else bool(fill))
    return guard(tuple(bounds), site.at(source, index), other)


def flip(site: Site) -> Value:
    source = site.arg(0)
    own, index = site.shape_of(source), list(site.index)
    for dim in dims(site.arg(1), len(own)):
        index[dim] = index[dim].times(Size.of(-1)).shifted(own[dim] - ONE)
    return site.at(source, index)


def repeat(site: Site) -> Value:
    source = site.arg(0)
    own = site.shape_of(source)
    index = site.index[len(site.index) - len(own) :]
    found = []
    for i, extent, whole in zip(index, own, site.shape[len(site.index) - len(own) :], strict=True):
        times = whole.over(extent)
        if times is None:
            raise NotLowered("repeat by an unknown count")
        found.append(i if times == ONE else digits(i, [times, extent])[1])
    return site.at(source, found)


def gather(site: Site) -> Value:
    source, dim, where = site.arg(0), site.arg(1), site.arg(2)
    own = site.shape_of(source)
    index = list(site.index)
    index[dim % len(own)] = looked(site.at(where, site.index), own[dim % len(own)])
    return site.at(source, index)


def index_select(site: Site) -> Value:
    source, dim, where = site.arg(0), site.arg(1), site.arg(2)
    own = site.shape_of(source)
    dim %= len(own)
    index = list(site.index)
    index[dim] = looked(site.at(where, [site.index[dim]]), own[dim])
    return site.at(source, index)


def embedding(site: Site) -> Value:
    table, where = site.arg(0), site.arg(1)
    row = looked(site.at(where, site.index[:-1]), site.shape_of(table)[0])
    return site.at(table, [row, site.index[-1]])


def indexed(site: Site) -> Value:
    """x[:, a, b]: tensors of indices for some dims, which go together. They stand where the first of them stood, or, with
    other dims between them, before all."""
    source, wheres = site.arg(0), site.node.args[1]
    own = site.shape_of(source)
    assert isinstance(wheres, list)
    listed = {d: w for d, w in enumerate(wheres) if w is not None}
    if any(not isinstance(w, Ref) or site.kind_of(w) == "bool" for w in listed.values()):
        raise NotLowered("a mask as an index")
    rank = len(site.index) - (len(own) - len(listed))
    first, last = min(listed), max(listed)
    start = first if last - first + 1 == len(listed) else 0
    head, rest = site.index[start : start + rank], iter((*site.index[:start], *site.index[start + rank :]))
    return site.at(source, [
        looked(site.operand(listed[d], head), extent) if d in listed else next(rest) for d, extent in enumerate(own)
    ])  # fmt: skip


def looked(value: Value, extent: Size) -> Index:
    """An index from data; negative ones count from the end."""
    return spot(apply("where", apply("lt", value, number(0)), apply("add", value, size_value(extent)), value), extent)


def spot(value: Value, extent: Size) -> Index:
    """An index that was computed, and lies inside."""
    return Index(((Looked(value, extent), ONE),))


def full(site: Site) -> Value:
    given = site.arg(1, "fill_value", 0)
    return _as(site, given)


def constant(value: int) -> Rule:
    return lambda site: _as(site, value)


def _as(site: Site, value: object) -> Value:
    if not isinstance(value, bool | int | float):
        return apply(site.kind, site.operand(value, ()))
    cast = {"float": float, "int": int, "bool": bool}[site.kind]
    return number(cast(value))


def arange(site: Site) -> Value:
    given = [site.arg(i) for i in range(len(site.node.args))]
    start, step = (0, 1) if len(given) == 1 else (given[0], given[2] if len(given) > 2 else 1)
    if not isinstance(start, int | Size) or not isinstance(step, int):
        raise NotLowered("a range of fractions")
    return apply(site.kind, place(site.index[0].times(Size.of(step)).shifted(Size.of(start))))


def triangle(upper: bool) -> Rule:
    def rule(site: Site) -> Value:
        x, diagonal = site.at(site.arg(0), site.index), Size.of(site.arg(1, "diagonal", 0))
        row, column = place(site.index[-2].shifted(diagonal)), place(site.index[-1])
        kept = apply("le", row, column) if upper else apply("ge", row, column)
        return apply("where", kept, x, number(0.0) if x.kind == "float" else number(0))

    return rule


def stack(site: Site) -> Value:
    """One after the other along a new dim."""
    tensors: list[Ref] = site.node.args[0]  # type: ignore[assignment]
    dim = site.arg(1, "dim", 0) % len(site.index)
    index = [i for d, i in enumerate(site.index) if d != dim]
    whole = apply(site.kind, site.at(tensors[-1], index))
    for turn, ref in reversed(list(enumerate(tensors[:-1]))):
        spot = site.index[dim].shifted(Size.of(-turn))
        whole = guard(((spot, ONE),), apply(site.kind, site.at(ref, index)), whole)
    return whole


def unbind(site: Site) -> Value:
    index = list(site.index)
    index.insert(site.arg(1, "dim", 0) % (len(index) + 1), Index.of(site.part))
    return site.at(site.arg(0), index)


def diagonal(site: Site) -> Value:
    source, offset = site.arg(0), site.arg(1, "offset", 0)
    rank = len(site.index) + 1
    first, second = (site.arg(i, name, i - 2) % rank for i, name in ((2, "dim1"), (3, "dim2")))
    if site.arg(2, "dim1") is None:
        first, second = 0, 1
    rest, spot = iter(site.index[:-1]), site.index[-1]
    moved = {first: spot.shifted(Size.of(max(-offset, 0))), second: spot.shifted(Size.of(max(offset, 0)))}
    return site.at(source, [moved[d] if d in moved else next(rest) for d in range(rank)])


def roll(site: Site) -> Value:
    source, shifts, over = site.arg(0), site.arg(1), site.arg(2, "dims")
    if not over:
        raise NotLowered("roll of a tensor as one long row")
    own, index = site.shape_of(source), list(site.index)
    for shift, dim in zip(*([v] if not isinstance(v, list) else v for v in (shifts, over)), strict=True):
        moved, extent = place(index[dim].shifted(Size.of(-shift))), size_value(own[dim])
        index[dim] = spot(floor_remainder(moved, extent), own[dim])
    return site.at(source, index)


def unfold(site: Site) -> Value:
    """Windows along a dim; the place in the window is the last dim."""
    source, dim, step = site.arg(0), site.arg(1), Size.of(site.arg(3))
    *index, inner = site.index
    dim %= len(index)
    index[dim] = index[dim].times(step) + inner
    return site.at(source, index)


def eye(site: Site) -> Value:
    return apply(site.kind, apply("eq", place(site.index[0]), place(site.index[1])))


def put_slice(site: Site) -> Value:
    """A slice of the first tensor is the second."""
    base, source, dim = site.arg(0), site.arg(1), site.arg(2, "dim", 0) % len(site.index)
    if site.arg(5, "step", 1) != 1:
        raise NotLowered("a slice with steps, written to")
    own = site.shape_of(source)[dim]
    index = list(site.index)
    index[dim] = index[dim].shifted(-_start(site.arg(3, "start"), site.shape[dim], ZERO))
    new, kept = apply(site.kind, site.at(source, index)), apply(site.kind, site.at(base, site.index))
    return guard(((index[dim], own),), new, kept)


def put_row(site: Site) -> Value:
    """One place along a dim of the first tensor is the second."""
    base, source, dim = site.arg(0), site.arg(1), site.arg(2) % len(site.index)
    spot = site.index[dim].shifted(-_start(site.arg(3), site.shape[dim], ZERO))
    new = apply(site.kind, site.at(source, [i for d, i in enumerate(site.index) if d != dim]))
    return guard(((spot, ONE),), new, apply(site.kind, site.at(base, site.index)))


_VIEWS = "view reshape _unsafe_view _reshape_copy view_copy"
_SAME = "lift_fresh clone alias alias_copy detach contiguous lift_fresh_copy copy"
RULES: dict[str, Rule] = {
    **dict.fromkeys(_VIEWS.split(), view),
    **dict.fromkeys(_SAME.split(), same),
    "permute": permute, "permute_copy": permute, "transpose": transpose, "transpose_copy": transpose, "t": transpose,
    "unsqueeze": unsqueeze, "unsqueeze_copy": unsqueeze, "squeeze": squeeze, "squeeze_copy": squeeze,
    "expand": expand, "expand_copy": expand, "slice": slice_, "slice_copy": slice_, "select": select,
    "select_copy": select, "split": split, "split_with_sizes": split, "split_copy": split, "split_with_sizes_copy": split,
    "cat": cat, "constant_pad_nd": pad, "flip": flip, "repeat": repeat,
    "gather": gather, "index_select": index_select, "embedding": embedding, "index": indexed,
    "full": full, "full_like": full, "zeros": constant(0), "ones": constant(1), "zeros_like": constant(0),
    "ones_like": constant(1), "scalar_tensor": lambda s: _as(s, s.arg(0)), "arange": arange,
    "new_full": lambda s: _as(s, s.arg(2)), "new_zeros": constant(0), "new_ones": constant(1), "fill": full,
    "stack": stack, "unbind": unbind, "unbind_copy": unbind, "diagonal": diagonal, "diagonal_copy": diagonal, "roll": roll,
    "unfold": unfold, "unfold_copy": unfold, "eye": eye, "slice_scatter": put_slice, "select_scatter": put_row,
    "_unsafe_index": indexed,
    "tril": triangle(False), "triu": triangle(True),
}  # fmt: skip
