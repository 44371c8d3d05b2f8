"""Loop form -> Triton, where several programs share a row: each has a part of it in its registers.

A row that is too long for one program is read once and written once all the same. What a reduction comes to over its part
each program puts on a board, waits until the others of the row have done so too, and reads theirs. They wait for each
other, so all of them must run at a time: the launch is cooperative, and programs take rows in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernellab.lower.emit_triton import TritonWriter
from kernellab.lower.inline import Store
from kernellab.lower.online import Online
from kernellab.lower.scope import Scope
from kernellab.lower.sizes import times_text
from kernellab.lower.values import Reduce

MEET = """@triton.jit
def _meet(ready, SHARES: tl.constexpr):
    tl.debug_barrier()
    here = tl.atomic_add(ready, 1, sem="acq_rel") + 1
    while here < SHARES:
        here = tl.atomic_add(ready, 0, sem="acquire")
    tl.debug_barrier()


"""


class SpreadWriter(TritonWriter):
    """`seats`: numbers of a row that each of its programs puts on the board; `meetings`: how often they wait."""

    _between = ("board", "ready")
    seats = meetings = 0

    def _choices(self) -> tuple[str, ...]:
        return ("SHARES", "WIDTH", "BLOCK")

    def _body(self) -> str:
        assert self._rows is not None
        top = Scope(None, ())
        top.add("share = tl.program_id(0) % SHARES")
        top.add("others = tl.arange(0, WIDTH)")
        top.add("begin = (tl.program_id(0) // SHARES).to(tl.int64)")
        head = f"for row in range(begin, {self._count_of_rows()}, tl.num_programs(0) // SHARES):"
        loop = Scope(top, (*self._rows.chosen, *self._rows.along), head, branch=True)  # a meeting is of one row
        self._decode(loop, "row", self._rows.chosen)
        self._piece(loop, "share * BLOCK + ")
        for store in self._stores:
            self._store(store, loop)
        top.add(loop)
        return top.python(1)

    def _count_of_rows(self) -> str:
        assert self._rows is not None
        return times_text(a.extent for a in self._rows.chosen)

    def _store_mask(self, store: Store) -> str:
        """What a row has one of, one of its programs writes."""
        return super()._store_mask(store) if self._along(store) else "share == 0"

    def _along_row(self, value: Reduce, scope: Scope) -> str:
        if value in self._online:
            self._in_one_pass(self._online[value], scope)
            return self._text(value, scope)
        body = self._text(value.body, scope)
        start = self._start(value)
        own = self._fresh("v")
        scope.add(f"{own} = {self._over_block(value, f'tl.where(mask, {body}, {start})')}")
        (seat,) = self._meet(scope, [own])
        return self._named(value, scope, self._over_block(value, self._seen(seat, start)))

    def _meet(self, scope: Scope, own: Sequence[str]) -> list[str]:
        """These are put down, and the others waited for; where everybody's lie."""
        rows = self._count_of_rows()
        seats = [f"board + ({self.seats + n} * {rows} + row) * SHARES" for n in range(len(own))]
        for seat, name in zip(seats, own, strict=True):
            scope.add(f"tl.store({seat} + share, {name})")
        scope.add(f"_meet(ready + {self.meetings} * {rows} + row, SHARES)")
        self.seats += len(own)
        self.meetings += 1
        return seats

    def _seen(self, seat: str, start: str) -> str:
        """Not from a cache of before."""
        return f"tl.load({seat} + others, mask=others < SHARES, other={start}, volatile=True)"

    def _in_one_pass(self, pair: Online, home: Scope) -> None:
        """Both results of its part, each program by itself; the programs meet once."""
        body = self._text(pair.first.body, home)
        (self._exponentials_of if pair.kind == "exponentials" else self._moments_of)(pair, home, body)

    def _exponentials_of(self, pair: Online, home: Scope, body: str) -> None:
        top, total, near, tops = (self._fresh(letter) for letter in ("v", "v", "near", "v"))
        home.add(f'{top} = tl.max(tl.where(mask, {body}, float("-inf")), axis=0)')
        home.add(f'{near} = tl.where({top} == float("-inf"), 0.0, {top})')
        home.add(f"{total} = tl.sum(tl.where(mask, tl.exp({body} - {near}), 0.0), axis=0)")
        first, second = self._meet(home, [top, total])
        home.add(f"{tops} = {self._seen(first, self._start(pair.first))}")
        highest = self._named(pair.first, home, f"tl.max({tops}, axis=0)")
        shares = f'tl.where({tops} == float("-inf"), 0.0, {self._seen(second, "0.0")} * tl.exp({tops} - {highest}))'
        self._named(pair.second, home, f"tl.sum({shares}, axis=0)")

    def _moments_of(self, pair: Online, home: Scope, body: str) -> None:
        """`count`: how many elements a program has. The squares are of distances from its own mean first."""
        assert self._rows is not None
        total, away, squares, count, sums, off = (self._fresh("v") for _ in range(6))
        length = times_text(a.extent for a in self._rows.along)
        home.add(f"{total} = tl.sum(tl.where(mask, {body}, 0.0), axis=0)")
        home.add(f"{away} = tl.where(mask, {body} - {total} / tl.minimum({length} - share * BLOCK, BLOCK), 0.0)")
        home.add(f"{squares} = tl.sum({away} * {away}, axis=0)")
        first, second = self._meet(home, [total, squares])
        home.add(f"{count} = tl.minimum({length} - others * BLOCK, BLOCK)")
        home.add(f"{sums} = {self._seen(first, '0.0')}")
        whole = self._named(pair.first, home, f"tl.sum({sums}, axis=0)")
        home.add(f"{off} = tl.where(others < SHARES, {sums} / {count} - {whole} / ({length}), 0.0)")
        self._named(pair.second, home, f"tl.sum({self._seen(second, '0.0')} + {count} * {off} * {off}, axis=0)")
