"""Graphs written by hand and small records, for tests that need no capture."""

from __future__ import annotations

from typing import Any

from kernellab.graph.record import GraphInput, GraphRecord, Node, Output, Ref, Seen, Symbol, TensorType
from kernellab.graph.source import Request
from kernellab.tasks.modules.importing import AS_IT_IS, Wishes, record_of
from kernellab.tasks.modules.record import ModuleRecord
from kernellab.tasks.suites.base import Problem

NORMAL = Seen(low=-4.0, high=4.0, mean=0.0, zeros=0.0)


def tensor(*extents: int | str, dtype: Any = "float32") -> TensorType:
    return TensorType(dtype=dtype, extents=extents)


def given(name: str, found: TensorType, role: Any = "input", seen: Seen | None = NORMAL) -> GraphInput:
    return GraphInput(name=name, role=role, type=found, source="" if role == "input" else name, seen=seen)


def node(name: str, op: str, args: list[Any], *results: TensorType) -> Node:
    return Node(name=name, op=op, args=args, results=results)


def graph(inputs: list[GraphInput], nodes: list[Node], sizes: dict[str, int], *outputs: tuple[str, int]) -> GraphRecord:
    types = {(n.name, i): r for n in nodes for i, r in enumerate(n.results)}
    chosen = outputs or ((nodes[-1].name, 0),)
    return GraphRecord(
        name="hand", torch="2", inputs=tuple(inputs), nodes=tuple(nodes),
        symbols=tuple(Symbol(name=n, low=2, high=None, example=e) for n, e in sizes.items()),
        outputs=tuple(Output(ref=Ref(ref=n, part=p), type=types[(n, p)]) for n, p in chosen),  # type: ignore[arg-type]
    )  # fmt: skip


def linear(rows: int = 64, terms: int = 32, columns: int = 16) -> GraphRecord:
    """relu(x @ w)."""
    made = tensor("d0", columns)
    return graph(
        [given("w", tensor(terms, columns), "weight"), given("x", tensor("d0", terms))],
        [
            node("product", "aten.mm.default", [Ref(ref="x"), Ref(ref="w")], made),
            node("y", "aten.relu.default", [Ref(ref="product")], made),
        ],
        {"d0": rows},
    )


def maximum() -> GraphRecord:
    """Values and indices of the largest of each row."""
    values, places = tensor("d0"), tensor("d0", dtype="int64")
    found = node("found", "aten.max.dim", [Ref(ref="x"), 1], values, places)
    return graph([given("x", tensor("d0", "d1"))], [found], {"d0": 40, "d1": 24}, ("found", 0), ("found", 1))


def total() -> GraphRecord:
    """A single number: the mean of everything."""
    mean = node("mean", "aten.mean.default", [Ref(ref="x")], tensor())
    return graph([given("x", tensor("d0", "d1"))], [mean], {"d0": 40, "d1": 24})


def masked() -> GraphRecord:
    """x where a mask is set, else zero, times a single number."""
    made = tensor("d0", 8)
    zero = node("zero", "aten.full_like.default", [Ref(ref="x"), 0.0], made)
    kept = node("kept", "aten.where.self", [Ref(ref="mask"), Ref(ref="x"), Ref(ref="zero")], made)
    times = node("times", "aten.mul.Tensor", [Ref(ref="kept"), Ref(ref="factor")], made)
    inputs = [given("x", made), given("mask", tensor("d0", 8, dtype="bool"), seen=None), given("factor", tensor())]
    return graph(inputs, [zero, kept, times], {"d0": 16})


def roots(seen: Seen | None = NORMAL) -> GraphRecord:
    """Half of the inputs have none."""
    made = tensor("d0", 24)
    return graph([given("x", made, seen=seen)], [node("y", "aten.sqrt.default", [Ref(ref="x")], made)], {"d0": 40})


def fixed() -> GraphRecord:
    """No free size at all."""
    return graph([given("x", tensor(6, 5))], [node("y", "aten.exp.default", [Ref(ref="x")], tensor(6, 5))], {})


def module_record(record: GraphRecord, wishes: Wishes = AS_IT_IS, name: str = "hand") -> ModuleRecord:
    return record_of(record, Problem(Request("hand.py"), name), wishes)
