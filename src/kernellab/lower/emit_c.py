"""Loop form -> C functions: nests of loops over a kernel's axes, every value in the outermost loop that it can be in.

Two ways to run over the last axis. `nest`: it is the innermost loop, and what is reduced over its rows is reduced there, in
loops that a compiler turns into vectors. `lanes`: a block of its elements goes together through the loops of the
reductions, as columns of sums and products of matrices want it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from kernellab.lower.axes import Axis
from kernellab.lower.c_edges import Edges
from kernellab.lower.c_text import KINDS, TYPES, bare, call_text, factor_text, index_text, joined, mixed, number_text
from kernellab.lower.inline import Store, loads_of, reductions_of, tensor_name
from kernellab.lower.scans import Scan, scan_of
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import Size
from kernellab.lower.tensors import KernelText, Tensor
from kernellab.lower.values import Apply, Guard, Load, Number, Place, Reduce, Value, walk

BLOCK = Axis("block", Size({("block",): 2}))
"""Stands for the place of a block of lanes among the loops."""
_START = {"sum": "0", "prod": "1", "max": "-INFINITY", "min": "INFINITY"}
_INT_START = {"sum": "0", "prod": "1", "max": "LONG_MIN", "min": "LONG_MAX"}
_PIECE = 256
"""Terms of a sum that are added one after the other."""
_OPENMP = {"sum": "+", "prod": "*", "max": "max", "min": "min"}


class CWriter:
    def __init__(
        self, name: str, stores: Sequence[Store], tensors: dict[str, Tensor], lanes: bool, kept: Value | None = None
    ) -> None:
        """`kept`: what a sum goes over and the result is made of; it waits in the result's own place."""
        self._kept = kept
        self._name, self._stores, self._tensors = name, stores, tensors
        self._scan = scan_of(stores)
        self._axes = _in_order(stores[0].axes, self._scan)
        beside = self._axes[:-1] if self._scan else self._axes
        self._lane = beside[-1] if lanes and beside else None
        self._real = "double" if any(t.dtype == "float64" for t in tensors.values()) else "float"
        self._uses = Counter(c for v in walk(*(s.value for s in stores)) for c in v.children())
        self._uses.update(s.value for s in stores)
        self._count = 0
        self._keeping = False
        self._edges = Edges(self._lane, beside)

    def kernel(self) -> KernelText:
        made = [tensor_name(s.tensor) for s in self._stores]
        read = list(dict.fromkeys(v.tensor for v in loads_of(self._stores) if v.tensor not in made))
        body = self._tile() if self._lane else self._nest()
        sizes = tuple(sorted(self._symbols().intersection(re.findall(r"[A-Za-z_]\w*", body))))
        params = [f"const {TYPES[self._tensors[t].dtype]} *restrict {t}" for t in read]
        params += [f"{TYPES[self._tensors[t].dtype]} *restrict {t}" for t in made]
        params += [f"long {s}" for s in sizes]
        text = body.replace("@PARAMS@", ", ".join(params)).replace("@ARGS@", ", ".join([*read, *made, *sizes]))
        return KernelText(self._name, text, (*read, *made), sizes)

    def _symbols(self) -> set[str]:
        extents = [e for t in self._tensors.values() for e in t.shape]
        extents += [a.extent for v in reductions_of(self._stores) for a in v.axes]
        return {s for e in extents for s in e.symbols}

    # --- nests

    def _nest(self) -> str:
        top = Scope(None, (), f"void {self._name}(@PARAMS@)")
        scope = self._loops(top, self._axes)
        for store in self._stores:
            self._store(store, scope)
        closed(scope, top, self._parallel)
        return top.text(0)

    def _tile(self) -> str:
        """The last axis in blocks: one function for a block, called with a full length that the compiler knows."""
        assert self._lane is not None
        lane = self._lane
        outer = tuple(a for a in self._axes if a != lane and not (self._scan and a == self._scan.along))
        places = "".join(f", long {a.name}" for a in outer)
        inline = "static inline __attribute__((always_inline))"
        head = f"{inline} void {self._name}_block(@PARAMS@{places}, long first, long lanes@INSIDE@)"
        block = Scope(None, (*outer, BLOCK), head)
        along = Scope(block, (self._scan.along,), self._loop(self._scan.along)) if self._scan else block
        inner = self._lane_loop(along)
        for store in self._stores:
            self._store(store, inner)
        along.add(inner)
        if along is not block:
            block.add(along)
        top = Scope(None, (), f"void {self._name}(@PARAMS@)")
        scope = self._loops(top, outer)
        extent = factor_text(lane.extent)
        blocks = Scope(scope, (), f"for (long first = 0; first < {extent}; first += LANES)")
        call, full = (
            f"{self._name}_block(@ARGS@{''.join(f', {a.name}' for a in outer)}, first",
            f"{extent} - first >= LANES",
        )
        inside = self._edges.condition()
        if inside:
            blocks.add(f"if ({full} && {inside}) {call}, LANES, 1);")
        blocks.add(f"{'else ' if inside else ''}if ({full}) {call}, LANES{', 0' if inside else ''});")
        blocks.add(f"else {call}, {extent} - first{', 0' if inside else ''});")
        closed(blocks, top, self._parallel)
        text = block.text(0) + "\n" + top.text(0)
        return text.replace("@INSIDE@", ", long inside" if inside else "")

    def _lane_loop(self, scope: Scope) -> Scope:
        assert self._lane is not None
        loop = Scope(scope, (self._lane,), "for (long l = 0; l < lanes; l++)")
        loop.add(f"long {self._lane.name} = first + l;")
        return loop

    def _loops(self, scope: Scope, axes: tuple[Axis, ...]) -> Scope:
        for axis in axes:
            scope = Scope(scope, (axis,), self._loop(axis))
        return scope

    def _loop(self, axis: Axis) -> str:
        if self._scan and self._scan.backwards and axis == self._scan.along:
            return f"for (long {axis.name} = {factor_text(axis.extent)} - 1; {axis.name} >= 0; {axis.name}--)"
        return f"for (long {axis.name} = 0; {axis.name} < {factor_text(axis.extent)}; {axis.name}++)"

    def _parallel(self, first: Scope) -> None:
        """With the next loop, if that is all there is in it and not the one for vectors. A scan alone stays in order."""
        if self._scan and self._axes == (self._scan.along,):
            return
        inside = [line for line in first.lines if isinstance(line, Scope)]
        alone = len(inside) == len(first.lines) == 1 and not inside[0].branch
        collapse = " collapse(2)" if alone and any(isinstance(line, Scope) for line in inside[0].lines) else ""
        first.pragma = (
            f"#pragma omp parallel for schedule(static){collapse} num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)"
        )

    # --- values

    def _store(self, store: Store, scope: Scope) -> None:
        tensor = self._tensors[tensor_name(store.tensor)]
        where = index_text(store.index[0], lambda v: self._text(v, scope))
        value = self._text(store.value, scope)
        text = {"bfloat16": f"to_bf16({value})", "bool": f"({value}) != 0"}.get(tensor.dtype, value)
        scope.add(f"{tensor.name}[{where}] = {text};")

    def _text(self, value: Value, scope: Scope) -> str:
        if isinstance(value, Number):
            return number_text(value, self._real)
        known = scope.known(value)
        if known is not None:
            return known
        if value is self._kept and not self._keeping:
            return self._result(scope)
        if isinstance(value, Reduce):
            return self._reduced(value, scope)
        if isinstance(value, Guard):
            return self._guarded(value, scope)
        home = scope.home(value)
        text = self._plain(value, home)
        if home is scope and self._uses[value] < 2 and not isinstance(value, Place):
            return text
        return self._named(value, home, text)

    def _named(self, value: Value, home: Scope, text: str) -> str:
        name = self._fresh("v")
        home.add(f"{KINDS[value.kind]} {name} = {bare(text)};")
        return home.name(value, name)

    def _plain(self, value: Value, home: Scope) -> str:
        if isinstance(value, Load):
            return self._loaded(value, home)
        if isinstance(value, Place):
            return f"({index_text(value.fields[0], lambda v: self._text(v, home))})"
        assert isinstance(value, Apply)
        texts = [self._text(c, home) for c in value.children()]
        if value.function in ("max", "min", "isnan"):  # these are written twice
            texts = [self._simple(c, t, home) for c, t in zip(value.children(), texts, strict=True)]
        return call_text(value.function, texts, [c.kind for c in value.children()], self._real)

    def _simple(self, value: Value, text: str, home: Scope) -> str:
        if re.fullmatch(r"[\w.\[\]-]+", text):
            return text
        return self._named(value, home, text)

    def _loaded(self, value: Load, home: Scope) -> str:
        tensor = self._tensors[value.tensor]
        where = index_text(value.indices()[0], lambda v: self._text(v, home))
        element = f"{tensor.name}[{where}]"
        return f"from_bf16({element})" if tensor.dtype == "bfloat16" else element

    def _guarded(self, value: Guard, scope: Scope) -> str:
        """A branch: nothing of it is computed outside."""
        home = scope.home(value)
        tests = []
        for index, extent in value.bounds:
            text = index_text(index, lambda v: self._text(v, home))
            test = f"(unsigned long)({text}) < (unsigned long){factor_text(extent)}"
            tests.append(self._edges.test(index, extent, test))
        name = self._fresh("v")
        if isinstance(value.body, Load | Number) and isinstance(value.other, Number):
            other = self._text(value.other, home)
            inside = Scope(home, (), branch=True)
            home.add(f"{KINDS[value.kind]} {name} = {' && '.join(tests)} ? {self._text(value.body, inside)} : {other};")
            return home.name(value, name)
        home.add(f"{KINDS[value.kind]} {name};")
        for head, found in ((f"if ({' && '.join(tests)})", value.body), ("else", value.other)):
            branch = Scope(home, (), head, branch=True)
            branch.add(f"{name} = {bare(self._text(found, branch))};")
            home.add(branch)
        return home.name(value, name)

    def _reduced(self, value: Reduce, scope: Scope) -> str:
        if self._scan is not None and value is self._scan.whole:
            return self._scanned(self._scan, scope)
        if self._lane is not None and self._lane in value.free:
            return self._reduced_lanes(value, scope)
        home = scope.home(value)
        if value.how.startswith("arg"):
            return home.name(value, self._place_of(value, home))
        return home.name(value, self._sum(value, value.axes, home))

    def _scanned(self, scan: Scan, scope: Scope) -> str:
        """What there is so far, kept from one step to the next; sums with more digits than they are stored with."""
        exact = scan.whole.kind == "float" and scan.whole.how in ("sum", "prod")
        kind, name, start = "double" if exact else KINDS[scan.whole.kind], self._fresh("acc"), self._start(scan.whole)
        while scope.branch and scope.parent is not None:  # every step counts
            scope = scope.parent
        if self._lane is None:
            assert scope.parent is not None
            scope.parent.add(f"{kind} {name} = {start};")
        else:
            block = scope.within(frozenset({BLOCK}))
            block.add(f"{kind} {name}[LANES];")
            block.add(f"for (long l = 0; l < lanes; l++) {name}[l] = {start};")
            name = f"{name}[l]"
        scope.add(joined(scan.whole.how, name, self._simple(scan.body, self._text(scan.body, scope), scope)))
        return scope.name(scan.whole, name)

    def _sum(self, value: Reduce, axes: tuple[Axis, ...], scope: Scope) -> str:
        """A loop inside a loop, each with a sum of its own: shorter sums are more exact."""
        if value.how == "sum" and value.kind == "float" and not axes[1:] and not _short(axes[0]):
            return self._in_pieces(value, axes[0], scope)
        name = self._fresh("acc")
        scope.add(f"{KINDS[value.kind]} {name} = {self._start(value)};")
        loop = Scope(scope, (axes[0],), self._loop(axes[0]))
        inner = self._sum(value, axes[1:], loop) if axes[1:] else self._kept_text(value.body, loop)
        inner = inner if re.fullmatch(r"\w+", inner) else self._into(inner, value, loop)
        loop.add(joined(value.how, name, inner))
        scope.add(self._shared(loop, f"reduction({_OPENMP[value.how]} : {name})", scope.parent is None))
        return name

    def _in_pieces(self, value: Reduce, axis: Axis, scope: Scope) -> str:
        """A sum of short sums: many small terms of one size, added to a large one, are all rounded the same way."""
        name, part, extent = self._fresh("acc"), self._fresh("acc"), factor_text(axis.extent)
        first, end = f"{axis.name}_0", f"{axis.name}_1"
        scope.add(f"{KINDS[value.kind]} {name} = 0;")
        pieces = Scope(scope, (), f"for (long {first} = 0; {first} < {extent}; {first} += {_PIECE})")
        pieces.add(f"{KINDS[value.kind]} {part} = 0;")
        pieces.add(f"long {end} = {first} + {_PIECE} < {extent} ? {first} + {_PIECE} : {extent};")
        loop = Scope(pieces, (axis,), f"for (long {axis.name} = {first}; {axis.name} < {end}; {axis.name}++)")
        inner = self._kept_text(value.body, loop)
        loop.add(joined("sum", part, inner if re.fullmatch(r"\w+", inner) else bare(inner)))
        pieces.add(self._shared(loop, f"reduction(+ : {part})", False))
        pieces.add(joined("sum", name, part))
        scope.add(self._shared(pieces, f"reduction(+ : {name})", scope.parent is None))
        return name

    def _kept_text(self, body: Value, loop: Scope) -> str:
        """What is summed; where it is wanted again, it is put where the result will be."""
        if body is not self._kept:
            return self._text(body, loop)
        self._keeping = True
        name = self._simple(body, self._text(body, loop), loop)
        self._keeping = False
        loop.add(f"{self._result(loop)} = {name};")
        return name

    def _result(self, scope: Scope) -> str:
        """The place of the one element that is made here."""
        (store,) = self._stores
        return f"{tensor_name(store.tensor)}[{index_text(store.index[0], lambda v: self._text(v, scope))}]"

    def _shared(self, loop: Scope, reduction: str, outermost: bool) -> Scope:
        """A reduction in vectors where nothing loops inside it, and by several threads where nothing loops around it."""
        words = ["parallel for"] if outermost else []
        words += [] if any(isinstance(line, Scope) for line in loop.lines) else ["simd"]
        threads = " num_threads(KLAB_THREADS) if(parallel : KLAB_THREADS > 1)" if outermost else ""
        if words:
            loop.pragma = f"#pragma omp {' '.join(words)} {reduction}{threads}"
        return loop

    def _into(self, text: str, value: Reduce, loop: Scope) -> str:
        if value.how in ("sum", "prod"):
            return bare(text)
        name = self._fresh("v")
        loop.add(f"{KINDS[value.kind]} {name} = {bare(text)};")
        return name

    def _place_of(self, value: Reduce, scope: Scope) -> str:
        best, name = self._fresh("acc"), self._fresh("at")
        start = _START[value.how[3:]] if value.body.kind == "float" else _INT_START[value.how[3:]]
        scope.add(f"{KINDS[value.body.kind]} {best} = {start};")
        scope.add(f"long {name} = 0;")
        loops, inner = [], scope
        for each in value.axes:
            inner = Scope(inner, (each,), self._loop(each))
            loops.append(inner)
        found = self._simple(value.body, self._text(value.body, inner), inner)
        place = mixed(value.axes)
        sign = ">" if value.how == "argmax" else "<"
        inner.add(f"if ({found} {sign} {best}) {{ {best} = {found}; {name} = {place}; }}")
        _nested(scope, loops)
        return name

    def _reduced_lanes(self, value: Reduce, scope: Scope) -> str:
        """One sum for each lane."""
        assert self._lane is not None
        if value.how.startswith("arg"):
            raise KeyError(value.how)
        home = scope.within((value.free - {self._lane}) | {BLOCK})
        name = self._fresh("acc")
        home.add(f"{KINDS[value.kind]} {name}[LANES];")
        home.add(f"for (long l = 0; l < lanes; l++) {name}[l] = {self._start(value)};")
        loops, inner = [], home
        for each in value.axes:
            inner = Scope(inner, (each,), self._loop(each))
            loops.append(inner)
        lane = self._lane_loop(inner)
        found = self._text(value.body, lane)
        found = found if re.fullmatch(r"\w+", found) else self._into(found, value, lane)
        lane.add(joined(value.how, f"{name}[l]", found))
        inner.add(lane)
        _nested(home, loops)
        return home.name(value, f"{name}[l]")

    def _start(self, value: Reduce) -> str:
        return (_START if value.kind == "float" else _INT_START)[value.how]

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"


def _short(axis: Axis) -> bool:
    return axis.extent.number is not None and axis.extent.number <= _PIECE


def _in_order(axes: tuple[Axis, ...], scan: Scan | None) -> tuple[Axis, ...]:
    """The axis of a scan is the innermost loop."""
    return axes if scan is None else (*(a for a in axes if a != scan.along), scan.along)


def _nested(scope: Scope, loops: list[Scope]) -> None:
    for outer, inner in zip([scope, *loops], loops, strict=False):
        outer.add(inner)


def closed(scope: Scope, top: Scope, first: Callable[[Scope], None]) -> None:
    """Each loop becomes a line of the one around it; the outermost is told."""
    while scope.parent is not None and scope is not top:
        parent = scope.parent
        parent.add(scope)
        if parent is top and scope.head.startswith("for"):
            first(scope)
        scope = parent
