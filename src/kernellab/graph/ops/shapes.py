"""Shape rules: what shape an operator's results have, from its arguments' shapes and numbers alone. No torch here.

A tensor argument is a `Shape`; everything else is as the record has it, with sizes as numbers.
"""

from __future__ import annotations

import math
from typing import Any

Args = list[Any]
Kwargs = dict[str, Any]


class Shape(tuple[int, ...]):
    """The shape of a tensor argument, told apart from a list of numbers."""


def _get(args: Args, kwargs: Kwargs, position: int, name: str, default: Any = None) -> Any:
    return args[position] if position < len(args) else kwargs.get(name, default)


def _axis(dim: int, rank: int) -> int:
    return dim % max(rank, 1)


def join(*shapes: tuple[int, ...]) -> Shape:
    """Broadcasting."""
    rank = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    extents = []
    for column in zip(*padded, strict=True):
        sizes = {n for n in column if n != 1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {shapes} do not go together")
        extents.append(sizes.pop() if sizes else 1)
    return Shape(extents)


def broadcast(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [join(*(a for a in [*args, *kwargs.values()] if isinstance(a, Shape)))]


def like_first(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [args[0]]


def like_first_pair(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [args[0], args[0]]


def scalar(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [Shape(())]


def sized(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [Shape(args[0])]


def arange(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    start, end, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) > 2 else 1)
    return [Shape((max(0, math.ceil((end - start) / step)),))]


# --- reductions


def _dropped(shape: Shape, dims: Any, keepdim: bool) -> Shape:
    listed = [dims] if isinstance(dims, int) else list(dims or ())
    gone = {_axis(d, len(shape)) for d in listed} or set(range(len(shape)))
    if keepdim:
        return Shape(1 if i in gone else n for i, n in enumerate(shape))
    return Shape(n for i, n in enumerate(shape) if i not in gone)


def drop_dims(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    """(x, dims, keepdim); without dims everything goes."""
    return [_dropped(args[0], _get(args, kwargs, 1, "dim"), bool(_get(args, kwargs, 2, "keepdim", False)))]


def drop_dims_of_norm(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    """(x, order, dims, keepdim)."""
    return [_dropped(args[0], _get(args, kwargs, 2, "dim"), bool(_get(args, kwargs, 3, "keepdim", False)))]


def drop_dims_pair(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return drop_dims(args, kwargs) * 2


def drop_dim_pair(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return drop_dims(args, kwargs) * 2


# --- products


def matmul(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    a, b = args[0], args[1]
    rows = a[:-1] if len(a) > 1 else ()
    columns = b[-1:] if len(b) > 1 else ()
    batch = join(rows[:-1], b[:-2]) if len(b) > 2 else Shape(rows[:-1])
    return [Shape((*batch, *rows[-1:], *columns))]


def addmm(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return matmul(args[1:3], kwargs)


def cdist_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [Shape((*join(args[0][:-2], args[1][:-2]), args[0][-2], args[1][-2]))]


def convolution(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, w, _, stride, padding, dilation, transposed, extra, groups = args
    channels = w[1] * groups if transposed else w[0]
    extents = []
    for i, n in enumerate(x[2:]):
        s, p, d, k = (_nth(v, i) for v in (stride, padding, dilation, w[2:]))
        grown = (n - 1) * s - 2 * p + d * (k - 1) + _nth(extra, i) + 1
        extents.append(grown if transposed else (n + 2 * p - d * (k - 1) - 1) // s + 1)
    return [Shape((x[0], channels, *extents))]


def _nth(values: Any, i: int) -> int:
    return int(values[i] if len(values) > 1 else values[0])


# --- windows


def _pooled(args: Args, kwargs: Kwargs, dilation: Any, ceil: bool) -> Shape:
    x, kernel = args[0], args[1]
    dims = {1: 1, 2: 2, 3: 3}.get(len(kernel), 1)
    dims = max(dims, len(kernel))
    stride = _get(args, kwargs, 2, "stride") or kernel
    padding = _get(args, kwargs, 3, "padding") or [0]
    extents = []
    for i, n in enumerate(x[len(x) - dims :]):
        k, s, p, d = _nth(kernel, i), _nth(stride, i), _nth(padding, i), _nth(dilation, i)
        room = n + 2 * p - d * (k - 1) - 1
        size = (room + (s - 1 if ceil else 0)) // s + 1
        extents.append(size - 1 if ceil and (size - 1) * s >= n + p else size)
    return Shape((*x[: len(x) - dims], *extents))


def pool(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [_pooled(args, kwargs, [1], bool(_get(args, kwargs, 4, "ceil_mode", False)))]


def pool_pair(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    dilation = _get(args, kwargs, 4, "dilation") or [1]
    return [_pooled(args, kwargs, dilation, bool(_get(args, kwargs, 5, "ceil_mode", False)))] * 2


def adaptive_pool(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, wanted = args[0], args[1]
    return [Shape((*x[: len(x) - len(wanted)], *wanted))]


def adaptive_pair(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return adaptive_pool(args, kwargs) * 2


def resample(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    """To given sizes, or by given factors (the last argument of the .vec overloads)."""
    x, wanted = args[0], args[1]
    factors = next((a for a in reversed([*args[2:], *kwargs.values()]) if isinstance(a, list)), None)
    extents = wanted if wanted else [math.floor(n * f) for n, f in zip(x[2:], factors or [], strict=True)]
    return [Shape((*x[:2], *extents))]


def sample(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    """As many places as the grid has, each with a coordinate for every axis of the image."""
    x, places = args[0], args[1]
    return [Shape((*x[:2], *places[1:-1]))]


# --- norms


def layer_norm_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, dims = args[0], len(args[1])
    kept = Shape((*x[: len(x) - dims], *(1 for _ in range(dims))))
    return [x, kept, kept]


def group_norm_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [args[0], Shape((args[3], args[6])), Shape((args[3], args[6]))]


def batch_norm_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [args[0], Shape(args[0][1:2]), Shape(args[0][1:2])]


def first_alone(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [args[0], Shape((0,)), Shape((0,))]


def topk_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, k, dim = args[0], args[1], _get(args, kwargs, 2, "dim", -1)
    made = Shape(k if i == _axis(dim, len(x)) else n for i, n in enumerate(x))
    return [made, made]


# --- indices


def gather_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [args[2]]


def index_select_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, dim, index = args
    return [Shape(math.prod(index) if i == _axis(dim, len(x)) else n for i, n in enumerate(x))]


def embedding_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [Shape((*args[1], args[0][-1]))]


def index_shape(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, indices = args[0], args[1]
    places = [i for i, index in enumerate(indices) if index is not None]
    joined = join(*(indices[i] for i in places))
    rest = [n for i, n in enumerate(x) if i not in places]
    together = places == list(range(places[0], places[0] + len(places)))
    before = places[0] if together else 0
    return [Shape((*rest[:before], *joined, *rest[before:]))]


# --- layout


def view(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, wanted = args[0], list(args[1])
    if -1 in wanted:
        known = math.prod(n for n in wanted if n != -1)
        wanted[wanted.index(-1)] = math.prod(x) // max(known, 1)
    return [Shape(wanted)]


def permute(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [Shape(args[0][_axis(d, len(args[0]))] for d in args[1])]


def transpose(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    order = list(args[0])
    i, j = (_axis(d, len(order)) for d in args[1:3])
    order[i], order[j] = order[j], order[i]
    return [Shape(order)]


def transpose_last(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    return [Shape(reversed(args[0]))]


def unsqueeze(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    place = _axis(args[1], len(args[0]) + 1)
    return [Shape((*args[0][:place], 1, *args[0][place:]))]


def squeeze(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x = args[0]
    dims = range(len(x)) if len(args) == 1 else [args[1]] if isinstance(args[1], int) else args[1]
    gone = {_axis(d, len(x)) for d in dims}
    return [Shape(n for i, n in enumerate(x) if not (i in gone and n == 1))]


def expand(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, wanted = args[0], args[1]
    padded = (1,) * (len(wanted) - len(x)) + tuple(x)
    return [Shape(n if w == -1 else w for n, w in zip(padded, wanted, strict=True))]


def slice_(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, dim = args[0], _axis(_get(args, kwargs, 1, "dim", 0), len(args[0]))
    start, end, step = (_get(args, kwargs, i, n) for i, n in ((2, "start"), (3, "end"), (4, "step")))
    taken = len(range(x[dim])[slice(start, end, step)])
    return [Shape(taken if i == dim else n for i, n in enumerate(x))]


def select(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    gone = _axis(args[1], len(args[0]))
    return [Shape(n for i, n in enumerate(args[0]) if i != gone)]


def split(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, parts, dim = args[0], args[1], _axis(_get(args, kwargs, 2, "dim", 0), len(args[0]))
    if isinstance(parts, int):
        parts = [min(parts, x[dim] - at) for at in range(0, x[dim], parts)]
    return [Shape(p if i == dim else n for i, n in enumerate(x)) for p in parts]


def unbind(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, dim = args[0], _axis(_get(args, kwargs, 1, "dim", 0), len(args[0]))
    return [Shape(n for i, n in enumerate(x) if i != dim)] * x[dim]


def cat(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    parts = [p for p in args[0] if p != (0,)]
    dim = _axis(_get(args, kwargs, 1, "dim", 0), len(parts[0]))
    return [Shape(sum(p[dim] for p in parts) if i == dim else n for i, n in enumerate(parts[0]))]


def repeat(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, times = args[0], args[1]
    padded = (1,) * (len(times) - len(x)) + tuple(x)
    return [Shape(n * t for n, t in zip(padded, times, strict=True))]


def pad(args: Args, kwargs: Kwargs) -> list[Shape | None]:
    x, amounts = list(args[0]), args[1]
    for i in range(len(amounts) // 2):
        x[-1 - i] += amounts[2 * i] + amounts[2 * i + 1]
    return [Shape(x)]
