"""Loop form -> Triton functions.

`flat`: a program has a block of elements, in the order of memory, and makes each by itself, with a loop for what is reduced.
`row`: a program has a row, whole, in registers. `row_loop`: a program goes over its row in pieces, once for each reduction
and once more for the result, however long it is. `tile` and `tile_loop`: the same for many rows at a time, where neighbours
in memory are of different rows. `scan` and `scan_tile`: the pieces in order, with what came before carried over. `spread`:
several programs share a row (emit_spread.py). `grid`: a program has a block of columns of some rows (emit_grid.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import Literal

from kernellab.lower.axes import Axis
from kernellab.lower.c_text import factor_text, index_text, mixed
from kernellab.lower.inline import Store, loads_of, tensor_name
from kernellab.lower.online import Online, online_of
from kernellab.lower.rows import Rows
from kernellab.lower.scans import Scan, scan_of
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import Size, product_of, times_text
from kernellab.lower.tensors import KernelText, Tensor
from kernellab.lower.triton_text import above_erf, call_text, number_text
from kernellab.lower.values import Apply, Guard, Load, Number, Place, Reduce, Value, reductions_in, unguarded, walk

Form = Literal["grid", "flat", "row", "spread", "row_loop", "tile", "tile_loop", "scan", "scan_tile"]
TILES: tuple[Form, ...] = ("tile", "tile_loop", "scan_tile")
_WHOLE, _ONE_PASS = ("row", "tile"), ("row_loop", "tile_loop", "spread")
JOIN = {"sum": "_sum", "prod": "_product", "max": "_largest", "min": "_smallest"}
_START = {"sum": "0.0", "prod": "1.0", "max": 'float("-inf")', "min": 'float("inf")'}
_INT_START = {"sum": "0", "prod": "1", "max": "-9223372036854775808", "min": "9223372036854775807"}
_MOST_INT32 = 2_000_000_000
"""Elements that 32 bits count, with those of a block behind the last."""
_UNROLLED = 16
"""Steps of nested loops that are written out, of an element by itself; more take a compiler too long, and so do any inside a
row, of which a thread has many elements."""


class TritonWriter:
    _between: tuple[str, ...] = ()
    """Buffers by which programs speak to each other."""

    def __init__(
        self, name: str, stores: Sequence[Store], tensors: dict[str, Tensor], form: Form, rows: Rows | None
    ) -> None:
        self._name, self._tensors, self._form = name, tensors, form
        self._rows = rows if form != "flat" else None
        self._scan = scan_of(stores) if form in ("scan", "scan_tile") else None
        self._stores = tuple(self._rows.stores if self._rows else stores)
        online = online_of(self._stores) if form in _ONE_PASS else []
        self._online = {value: pair for pair in online for value in (pair.first, pair.second)}
        self._always = list(unguarded(s.value for s in self._stores))
        self._block = frozenset(self._rows.along if self._rows else stores[0].axes)
        self._lane = self._rows.chosen[-1] if self._rows and form in TILES else None
        self._shape = "[BLOCK, LANES]" if self._lane else "[BLOCK]"
        self._uses = Counter(c for v in walk(*(s.value for s in self._stores)) for c in v.children())
        self._uses.update(s.value for s in self._stores)
        self._wide = ""
        """What makes a count of programs wide enough for places, where 32 bits may not do."""
        self._count = 0
        self.deep = False
        """Whether some loop takes several pieces of a row at a time."""
        self._sixteen = all(self._tensors[tensor_name(s.tensor)].dtype in ("bfloat16", "float16") for s in stores)
        """Whether all that is made has 16 bits."""
        self._uneven: set[str] = set()
        """Conditions that hold for some elements of a block and not for others."""

    def kernel(self) -> KernelText:
        made = [tensor_name(s.tensor) for s in self._stores]
        read = list(dict.fromkeys(v.tensor for v in loads_of(self._stores) if v.tensor not in made))
        body = self._body()
        symbols = {s for t in self._tensors.values() for e in t.shape for s in e.symbols}
        sizes = tuple(sorted({n for n in re.findall(r"[A-Za-z_]\w*", body) if n in symbols}))
        tensors = (*read, *made, *self._between)
        params = ", ".join([*tensors, *(f"{s}: tl.constexpr" for s in (*sizes, *self._choices()))])
        return KernelText(self._name, f"@triton.jit\ndef {self._name}({params}):\n{body}", tensors, sizes)

    def _elements(self, in_parts: Set[str] = frozenset()) -> set[Size]:
        """Of each tensor that is read or made; `in_parts`: those that are three, one behind the other."""
        names = {v.tensor for v in loads_of(self._stores)}
        names |= {tensor_name(s.tensor) for s in self._stores}
        return {product_of(self._tensors[n].shape) * Size.of(3 if n in in_parts else 1) for n in names}

    def _widths(self, top: Scope, counts: Iterable[Size]) -> None:
        """Places in tensors of more elements than 32 bits can count need 64; `counts` are those of tensors and of axes."""
        unknown = [s for s in counts if not Size.of(_MOST_INT32).at_least(s)]
        largest = [s for s in unknown if not any(o != s and o.at_least(s) for o in unknown)]
        if not largest:
            return
        test = " or ".join(sorted(f"{s.text} > {_MOST_INT32}" for s in largest))
        top.add(f"INDEX: tl.constexpr = tl.int64 if {test} else tl.int32")
        self._wide = ".to(INDEX)"

    # --- forms

    def _choices(self) -> tuple[str, ...]:
        """What the launch chooses, besides the sizes."""
        return ("BLOCK", "LANES") if self._lane else ("BLOCK", "DEEP") if self.deep else ("BLOCK",)

    def _body(self) -> str:
        return self._flat() if self._form == "flat" else self._row() if self._form in _WHOLE else self._row_loop()

    def _flat(self) -> str:
        axes = self._stores[0].axes
        top = Scope(None, axes)
        self._widths(top, {*self._elements(), product_of(a.extent for a in axes)})
        top.add(f"at = tl.program_id(0){self._wide} * BLOCK + tl.arange(0, BLOCK)")
        top.add(f"mask = at < {times_text(a.extent for a in axes)}")
        self._decode(top, "at", axes)
        for store in self._stores:
            self._store(store, top)
        return top.python(1)

    def _row(self) -> str:
        """One block for the whole row: every value of it stays in registers."""
        assert self._rows is not None
        top = Scope(None, (*self._rows.chosen, *self._rows.along))
        self._chosen(top)
        self._piece(top, "")
        for store in self._stores:
            self._store(store, top)
        return top.python(1)

    def _row_loop(self) -> str:
        assert self._rows is not None
        top = Scope(None, self._rows.chosen)
        self._chosen(top)
        rows, points = [s for s in self._stores if self._along(s)], [s for s in self._stores if not self._along(s)]
        for store in points:
            self._store(store, top)
        if rows:
            loop = self._pieces(top)
            for store in rows:
                self._store(store, loop)
            top.add(loop)
        return top.python(1)

    def _along(self, store: Store) -> bool:
        assert self._rows is not None
        return any(a in store.axes for a in self._rows.along)

    def _pieces(self, scope: Scope, deep: bool = False) -> Scope:
        """`deep`: several pieces at a time, one above the other."""
        assert self._rows is not None
        length = times_text(a.extent for a in self._rows.along)
        loop = Scope(
            scope, self._rows.along, f"for first in range(0, {length}, {'DEEP * BLOCK' if deep else 'BLOCK'}):"
        )
        back = f"tl.cdiv({length}, BLOCK) * BLOCK - BLOCK - " if self._scan and self._scan.backwards else ""
        self._piece(loop, f"{back}first + {'tl.arange(0, DEEP)[:, None] * BLOCK + ' if deep else ''}", deep)
        return loop

    def _in_depth(self, *values: Reduce) -> bool:
        """Whether a loop for them takes several pieces at a time: more is under way, and less is done between pieces. What
        it reduces has one shape, so no other loop may be inside it."""
        plain = self._form == "row_loop" and all(v.how in ("sum", "max", "min") for v in values)
        found = plain and not any(v.free & self._block for v in reductions_in(*(v.body for v in values)))
        self.deep = self.deep or found
        return found

    def _piece(self, scope: Scope, first: str, deep: bool = False) -> None:
        """The places along the row, and which of them there are."""
        assert self._rows is not None
        scope.add(f"at = {first}tl.arange(0, BLOCK){'[:, None]' if self._lane else '[None, :]' if deep else ''}")
        inside = f"at < {times_text(a.extent for a in self._rows.along)}"
        scope.add(f"mask = ({inside}) & there" if self._lane else f"mask = {inside}")
        self._decode(scope, "at", self._rows.along)

    def _chosen(self, scope: Scope) -> None:
        """The program's row, or its rows beside each other."""
        assert self._rows is not None
        if not self._rows.chosen:
            return
        self._widths(scope, {*self._elements(), product_of(a.extent for a in self._rows.chosen)})
        scope.add(f"row = tl.program_id(0){self._wide}")
        if self._lane is None:
            self._decode(scope, "row", self._rows.chosen)
            return
        extent = self._lane.extent.factor_text
        scope.add(f"blocks = tl.cdiv({extent}, LANES)")
        scope.add(f"{self._lane.name} = (row % blocks) * LANES + tl.arange(0, LANES)[None, :]")
        scope.add(f"there = {self._lane.name} < {extent}")
        if self._rows.chosen[:-1]:
            scope.add("row = row // blocks")
            self._decode(scope, "row", self._rows.chosen[:-1])

    def _decode(self, scope: Scope, whole: str, axes: Sequence[Axis]) -> None:
        """Each axis from a number that counts all of them."""
        for number, axis in reversed(list(enumerate(axes))):
            if number == 0:
                scope.add(f"{axis.name} = {whole}")
            else:
                extent = axis.extent.factor_text
                scope.add(f"{axis.name} = {whole} % {extent}")
                scope.add(f"{whole}_{number} = {whole} // {extent}")
                whole = f"{whole}_{number}"

    # --- values

    def _masked(self, free: frozenset[Axis], extra: str = "") -> str:
        """Which elements there are of something that depends on these axes."""
        own = "mask" if free & self._block else "there" if self._lane in free else ""
        return " & ".join(part for part in (own, extra) if part)

    def _fills(self, free: frozenset[Axis]) -> bool:
        """Whether what depends on these axes has a place for each element of a block."""
        return bool(self._masked(free))

    def _store(self, store: Store, scope: Scope) -> None:
        tensor = self._tensors[tensor_name(store.tensor)]
        where = index_text(store.index[0], lambda v: self._text(v, scope), "//")
        value = self._text(store.value, scope)
        mask = self._store_mask(store)
        scope.add(f"tl.store({tensor.name} + {where}, {value}{f', mask={mask}' if mask else ''})")

    def _store_mask(self, store: Store) -> str:
        return self._masked(frozenset(store.axes))

    def _text(self, value: Value, scope: Scope) -> str:
        if isinstance(value, Number):
            return number_text(value)
        known = scope.known(value)
        if known is not None:
            return known
        if isinstance(value, Reduce):
            return self._reduced(value, scope)
        if isinstance(value, Guard):
            return self._guarded(value, scope)
        home = scope.home(value)
        text = self._plain(value, home)
        if home is scope and self._uses[value] < 2 and not isinstance(value, Load | Place):
            return text
        return self._named(value, home, text)

    def _named(self, value: Value, home: Scope, text: str) -> str:
        name = self._fresh("v")
        home.add(f"{name} = {text}")
        return home.name(value, name)

    def _plain(self, value: Value, home: Scope) -> str:
        if isinstance(value, Load):
            return self._loaded(value, home)
        if isinstance(value, Place):
            text = index_text(value.indices()[0], lambda v: self._text(v, home), "//")
            return self._place_text(text) if value.free else f"({text})"
        assert isinstance(value, Apply)
        if self._sixteen and (below := above_erf(value)) is not None:
            return f"_one_and_erf({self._text(below, home)})"
        texts = [self._text(c, home) for c in value.children()]
        return call_text(value.function, texts, [c.kind for c in value.children()])

    def _place_text(self, text: str) -> str:
        """A place as a number that is computed with: as wide as the graph's own are."""
        return f"tl.cast({text}, tl.int64)"

    def _loaded(self, value: Load, home: Scope, other: str = "0") -> str:
        where = index_text(value.indices()[0], lambda v: self._text(v, home), "//")
        only = home.condition()
        mask = self._masked(value.free, only)
        if not self._fills(value.free) and not self._uneven.isdisjoint(only.split(" & ")):
            where = f"tl.where({only}, {where}, 0)"  # a mask for each element of a block needs as many places
        more = f", mask={mask}, other={other}" if mask else ""
        dtype = self._tensors[value.tensor].dtype
        cast = {"bool": " != 0"}.get(dtype, ".to(tl.float64)" if dtype == "float64" else ".to(tl.float32)")
        cast = cast if value.kind != "int" else ".to(tl.int64)"
        return f"tl.load({value.tensor} + {where}{more}){cast}"

    def _guarded(self, value: Guard, scope: Scope) -> str:
        """Loads inside the bounds alone; then whichever belongs there."""
        home = scope.home(value)
        tests = []
        for index, extent in value.bounds:
            text = self._fresh("at")
            home.add(f"{text} = {index_text(index, lambda v: self._text(v, home), '//')}")
            tests.append(f"({text} >= 0) & ({text} < {factor_text(extent, '//')})")
        inside = self._fresh("inside")
        home.add(f"{inside} = {' & '.join(tests)}")
        if self._masked(frozenset(axis for index, _ in value.bounds for axis in index.axes)):
            self._uneven.add(inside)
        branch, other = Scope(home, (), branch=True, only=inside), Scope(home, (), branch=True)
        found = f"tl.where({inside}, {self._text(value.body, branch)}, {self._text(value.other, other)})"
        home.lines += [*branch.lines, *other.lines]
        return self._named(value, home, found)

    def _reduced(self, value: Reduce, scope: Scope) -> str:
        if self._scan is not None and value is self._scan.whole:
            return self._scanned(self._scan, scope)
        if self._rows is not None and value.axes == self._rows.along:
            return self._along_row(value, scope)
        return self._looped(value, scope)

    def _along_row(self, value: Reduce, scope: Scope) -> str:
        if value.how.startswith("arg"):
            return self._placed(value, scope)
        if self._form in _WHOLE:
            body = self._in_row(value.body, scope, self._start(value))
            return self._named(value, scope, self._over_block(value, body))
        home = scope.home(value)
        if value in self._online:
            self._in_one_pass(self._online[value], home)
            return self._text(value, scope)
        self._in_a_pass([value, *self._beside(value, home)], home)
        return self._text(value, scope)

    def _in_a_pass(self, values: Sequence[Reduce], home: Scope) -> None:
        """Reductions that don't need each other."""
        names = [self._fresh("acc") for _ in values]
        for value, name in zip(values, names, strict=True):
            kind = "tl.float32" if value.kind == "float" else "tl.int64"
            home.add(f"{name} = tl.full({self._shape}, {self._start(value)}, {kind})")
        deep = self._in_depth(*values)
        loop = self._pieces(home, deep)
        for value, name in zip(values, names, strict=True):
            body = self._in_row(value.body, loop, self._start(value))
            loop.add(f"{name} = {self._joined(value, name, f'tl.{value.how}({body}, axis=0)' if deep else body)}")
        home.add(loop)
        for value, name in zip(values, names, strict=True):
            self._named(value, home, self._over_block(value, name))

    def _beside(self, value: Reduce, home: Scope) -> list[Reduce]:
        """Others that the same look at the row can make: all that they need is known by then, and no bound says whether
        they are looked at at all."""
        left = [v for v in self._always if v is not value and v not in self._online and home.known(v) is None]
        fitting = [v for v in left if v.axes == value.axes and v.how in _START and home.home(v) is home]
        return [v for v in fitting if all(home.known(u) is not None for u in reductions_in(v.body))]

    def _in_row(self, body: Value, scope: Scope, start: str) -> str:
        """What is reduced, and where the row has ended what changes nothing: a load brings that with it."""
        if isinstance(body, Load) and body.kind == "float" and scope.home(body) is scope and scope.known(body) is None:
            return self._named(body, scope, self._loaded(body, scope, start))
        return f"tl.where(mask, {self._text(body, scope)}, {start})"

    def _placed(self, value: Reduce, scope: Scope) -> str:
        """Where the extreme of a row is: the first of equal ones."""
        assert self._rows is not None
        how, start = value.how[3:], self._start(value, value.how[3:])
        home = scope if self._form in _WHOLE else scope.home(value)
        best, place, most = self._fresh("acc"), "at", self._fresh("v")
        if self._form in _WHOLE:
            home.add(f"{best} = tl.where(mask, {self._text(value.body, home)}, {start})")
        else:
            place, found = self._fresh("at"), self._fresh("v")
            kind = "tl.float32" if value.body.kind == "float" else "tl.int64"
            home.add(f"{best} = tl.full({self._shape}, {start}, {kind})")
            home.add(f"{place} = tl.zeros({self._shape}, tl.int32)")
            loop = self._pieces(home)
            loop.add(f"{found} = tl.where(mask, {self._text(value.body, loop)}, {start})")
            loop.add(f"{place} = tl.where({found} {'>' if how == 'max' else '<'} {best}, at, {place})")
            loop.add(f"{best} = tl.{how}imum({best}, {found})")
            home.add(loop)
        keep, last = ", keep_dims=True" if self._lane else "", f"{times_text(a.extent for a in self._rows.along)} - 1"
        home.add(f"{most} = tl.{how}({best}, axis=0{keep})")
        first = f"tl.min(tl.where({best} == {most}, {place}, {last}), axis=0{keep}).to(tl.int64)"
        return self._named(value, home, first)

    def _in_one_pass(self, pair: Online, home: Scope) -> None:
        """Each lane has both results of its own; they come together behind the loop."""
        first, second, found = self._fresh("acc"), self._fresh("acc"), self._fresh("v")
        start = 'float("-inf")' if pair.kind == "exponentials" else "0.0"
        home.add(f"{first} = tl.full({self._shape}, {start}, tl.float32)")
        home.add(f"{second} = tl.full({self._shape}, 0.0, tl.float32)")
        deep = pair.kind == "exponentials" and self._in_depth(pair.first)
        loop = self._pieces(home, deep)
        if pair.kind == "exponentials":
            loop.add(f"{found} = {self._in_row(pair.first.body, loop, start)}")
            self._exponentials(pair, home, loop, (first, second, found), deep)
        else:
            loop.add(f"{found} = tl.where(mask, {self._text(pair.first.body, loop)}, {first})")
            self._moments(pair, home, loop, (first, second, found))

    def _exponentials(
        self, pair: Online, home: Scope, loop: Scope, names: tuple[str, str, str], deep: bool = False
    ) -> None:
        """`near` is 0 where all was -inf so far: exp of less is 0. What was summed is scaled once for all pieces."""
        top, total, found = names
        near, higher = self._fresh("near"), self._fresh("v")
        most, each = (f"tl.max({found}, axis=0)", f"{near}[None, :]") if deep else (found, near)
        terms = f"tl.exp({found} - {each})"
        loop.add(f"{higher} = tl.maximum({top}, {most})")
        loop.add(f'{near} = tl.where({higher} == float("-inf"), 0.0, {higher})')
        loop.add(f"{total} = {total} * tl.exp({top} - {near}) + {f'tl.sum({terms}, axis=0)' if deep else terms}")
        loop.add(f"{top} = {higher}")
        home.add(loop)
        highest = self._named(pair.first, home, self._over_block(pair.first, top))
        lanes = f'tl.where({top} == float("-inf"), 0.0, {total} * tl.exp({top} - {highest}))'
        self._named(pair.second, home, self._over_block(pair.second, lanes))

    def _moments(self, pair: Online, home: Scope, loop: Scope, names: tuple[str, str, str]) -> None:
        """Of what is not there, the distance from the mean is nothing; `count` is how many a lane had."""
        assert self._rows is not None
        mean, squares, found = names
        away, count, length = self._fresh("v"), self._fresh("v"), times_text(a.extent for a in self._rows.along)
        loop.add(f"{away} = {found} - {mean}")
        loop.add(f"{mean} = {mean} + {away} * (1.0 / (first // BLOCK + 1))")
        loop.add(f"{squares} = {squares} + {away} * ({found} - {mean})")
        home.add(loop)
        home.add(f"{count} = ({length} + BLOCK - 1 - tl.arange(0, BLOCK){'[:, None]' if self._lane else ''}) // BLOCK")
        total = self._named(pair.first, home, self._over_block(pair.first, f"{mean} * {count}"))
        off = self._fresh("v")
        home.add(f"{off} = {mean} - {total} / ({length})")
        self._named(pair.second, home, self._over_block(pair.second, f"{squares} + {count} * {off} * {off}"))

    def _scanned(self, scan: Scan, scope: Scope) -> str:
        """A piece by itself, joined to what the pieces before it come to."""
        assert scope.parent is not None
        value, so_far, name = scan.whole, self._fresh("acc"), self._fresh("v")
        kind = "tl.float32" if value.kind == "float" else "tl.int64"
        shape = "[1, LANES]" if self._lane else "[]"
        scope.parent.add(f"{so_far} = tl.full({shape}, {self._start(value)}, {kind})")
        scope.add(f"{name} = tl.where(mask, {self._text(scan.body, scope)}, {self._start(value)})")
        whole, reverse = self._over_block(value, name), ", reverse=True" if scan.backwards else ""
        running = f"tl.associative_scan({name}, 0, {JOIN[value.how]}{reverse})"
        found = self._named(value, scope, self._joined(value, so_far, running))
        scope.add(f"{so_far} = {self._joined(value, so_far, whole)}")
        return found

    def _over_block(self, value: Reduce, text: str) -> str:
        keep = ", keep_dims=True" if self._lane else ""
        if value.how == "prod":
            return f"tl.reduce({text}, 0, _product{keep})"
        return f"tl.{value.how}({text}, axis=0{keep})"

    def _shape_of(self, free: frozenset[Axis]) -> str:
        return self._shape if free & self._block else "[1, LANES]" if self._lane in free else "[]"

    def _looped(self, value: Reduce, scope: Scope) -> str:
        """Each element for itself, by loops."""
        home = scope.home(value)
        name = self._fresh("acc")
        shape = self._shape_of(value.free)
        kind = "tl.float32" if value.body.kind == "float" else "tl.int64"
        start = self._start(value) if not value.how.startswith("arg") else self._start(value, value.how[3:])
        home.add(f"{name} = tl.full({shape}, {start}, {kind})")
        place = ""
        if value.how.startswith("arg"):
            place = self._fresh("at")
            home.add(f"{place} = tl.full({shape}, 0, tl.int64)")
        inner, loops, unrolled = home, [], 1
        for axis in value.axes:
            count = axis.extent.number
            short = count is not None and unrolled * count <= _UNROLLED and self._rows is None
            unrolled *= count if short and count else 1
            steps = f"{'tl.static_range' if short else 'range'}({axis.extent.text})"
            inner = Scope(inner, (axis,), f"for {axis.name} in {steps}:")
            loops.append(inner)
        body = self._text(value.body, inner)
        if place:
            found = self._fresh("v")
            inner.add(f"{found} = {body}")
            sign = ">" if value.how == "argmax" else "<"
            inner.add(f"{place} = tl.where({found} {sign} {name}, {mixed(value.axes, '//')}, {place})")
            inner.add(f"{name} = tl.{value.how[3:]}imum({name}, {found})")
        else:
            inner.add(f"{name} = {self._joined(value, name, body)}")
        for outer, each in zip([home, *loops], loops, strict=False):
            outer.add(each)
        return home.name(value, place or name)

    def _joined(self, value: Reduce, name: str, found: str) -> str:
        if value.how in ("sum", "prod"):
            return f"{name} {'+' if value.how == 'sum' else '*'} {found}"
        return f"tl.{value.how}imum({name}, {found})"

    def _start(self, value: Reduce, how: str = "") -> str:
        return (_START if value.body.kind == "float" else _INT_START)[how or value.how]

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"
