"""The backward of a module as a graph: gradients of its inputs and weights for given gradients of its outputs.

The forward is exported as ever. Its program is then run on its own symbolic tensors with autograd on, and what the backward
calls is traced and brought to core ATen. Sizes stay free, and the gradients that come in have the sizes of the outputs. The
graph holds what the backward needs of the forward. Runs in the capture process.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.graph.need_torch import need_torch
from kernellab.graph.ops.refused import RANDOM, refusal
from kernellab.graph.ops.table import is_view
from kernellab.graph.source import Subject

GRAD = "grad_"
"""What the names of gradients that come in begin with."""


@dataclass(frozen=True)
class Program:
    """As much of an exported program as a translation reads."""

    graph: Any
    graph_signature: Any
    range_constraints: Any
    constants: Any
    _guards_code: list[str]
    more_conditions: tuple[Any, ...] = ()
    """What tracing the backward assumed about sizes, beyond the forward's conditions."""


def differentiated(program: Any) -> Program:
    """The backward of an exported program that is not decomposed yet."""
    torch = need_torch()
    from torch.fx.experimental.proxy_tensor import make_fx

    _refuse_writes(program)
    _refuse_random(program)
    places = [n for n in program.graph.nodes if n.op == "placeholder"]
    specs = list(program.graph_signature.input_specs)
    values = [n.meta["val"] for n in places]
    wanted = [i for i, (spec, v) in enumerate(zip(specs, values, strict=True)) if _has_gradient(spec, v)]
    outputs = [n.meta["val"] for n in _results(program) if _is_float(n.meta["val"])]
    mode = next(v.fake_mode for v in values if isinstance(v, torch.Tensor))
    assumed = len(mode.shape_env.guards) if mode.shape_env else 0
    found: list[int] = []

    def joint(given: list[Any], grads: list[Any]) -> list[Any]:
        leaves = [v.detach().requires_grad_(i in wanted) if _is_float(v) else v for i, v in enumerate(given)]
        with torch.enable_grad():
            results = [y for y in program.graph_module(*leaves) if _is_float(y)]
            pairs = [(y, g) for y, g in zip(results, grads, strict=True) if y.requires_grad]
            if not pairs:
                raise TaskRefused("no output has a gradient", "a backward needs outputs that floats decide")
            made = torch.autograd.grad(
                [y for y, _ in pairs], [leaves[i] for i in wanted], [g for _, g in pairs], allow_unused=True
            )
        found[:] = [i for i, g in zip(wanted, made, strict=True) if g is not None]
        return [g for g in made if g is not None]

    with warnings.catch_warnings(), mode:
        warnings.simplefilter("ignore")
        grads = [torch.empty_like(y) for y in outputs]
        table = torch.export.default_decompositions()
        traced = make_fx(joint, decomposition_table=table, tracing_mode="real")(values, grads)
        if _writes(traced.graph):
            pure = torch.func.functionalize(traced, remove="mutations")
            traced = make_fx(pure, decomposition_table=table, tracing_mode="real")(values, grads)
    if not found:
        raise TaskRefused("no input and no weight has a gradient", "a backward needs floats that decide the output")
    more = tuple(g.expr for g in mode.shape_env.guards[assumed:]) if mode.shape_env else ()
    return _program(program, _tidied(traced.graph), specs, len(outputs), more)


def _writes(graph: Any) -> bool:
    """Autograd's own formulas write in place here and there; a record has no such thing."""
    schemas = [getattr(n.target, "_schema", None) for n in graph.nodes if n.op == "call_function"]
    return any(schema is not None and schema.is_mutable for schema in schemas)


def _tidied(graph: Any) -> Any:
    """Without other names for the same value; gradients that are an input seen otherwise are made copies."""
    aten = need_torch().ops.aten
    for node in graph.nodes:
        if node.op == "call_function" and node.target in (aten.alias.default, aten.detach.default):
            node.replace_all_uses_with(node.args[0])
    (result,) = [n for n in graph.nodes if n.op == "output"]
    made = []
    with graph.inserting_before(result):
        for value in result.args[0]:
            copy = value
            if _viewed(value):
                copy = graph.call_function(aten.clone.default, (value,))
                copy.meta["val"] = value.meta["val"]
            made.append(copy)
    result.args = (tuple(made),)
    graph.eliminate_dead_code()
    return graph


def _viewed(node: Any) -> bool:
    while node.op == "call_function" and is_view(str(node.target)):
        node = node.args[0]
    return bool(node.op == "placeholder")


def _program(forward: Any, graph: Any, specs: list[Any], grads: int, more: tuple[Any, ...]) -> Program:
    """Placeholders named as the forward's, then the gradients that come in; what is not read is left to the translation."""
    places = [n for n in graph.nodes if n.op == "placeholder"]
    names = [*(s.arg.name for s in specs), *(f"{GRAD}{i}" for i in range(grads))]
    for place, name in zip(places, names, strict=True):
        place.name = place.target = name
    incoming = [_spec("USER_INPUT", f"{GRAD}{i}") for i in range(grads)]
    (result,) = [n for n in graph.nodes if n.op == "output"]
    signature = SimpleNamespace(
        input_specs=[*specs, *incoming],
        output_specs=[_spec("USER_OUTPUT", "") for _ in result.args[0]],
        user_inputs_to_mutate={},
        buffers_to_mutate={},
    )
    guards = list(getattr(forward, "_guards_code", None) or ())
    return Program(graph, signature, forward.range_constraints, forward.constants, guards, more)


def _spec(kind: str, name: str) -> Any:
    return SimpleNamespace(kind=SimpleNamespace(name=kind), arg=SimpleNamespace(name=name), target=None)


def _results(program: Any) -> list[Any]:
    (last,) = [n for n in program.graph.nodes if n.op == "output"]
    return [n for n in last.args[0] if hasattr(n, "meta")]


def _is_float(value: Any) -> bool:
    torch = need_torch()
    return isinstance(value, torch.Tensor) and bool(value.is_floating_point())


def _has_gradient(spec: Any, value: Any) -> bool:
    return spec.kind.name in ("USER_INPUT", "PARAMETER") and _is_float(value)


def _refuse_writes(program: Any) -> None:
    """In words of the forward: a program that writes has no gradient of its own."""
    signature = program.graph_signature
    written = sorted([*signature.user_inputs_to_mutate.values(), *signature.buffers_to_mutate.values()])
    if written:
        raise TaskRefused(
            f"it writes to {', '.join(written)}", "copy what is written to first, and call .eval() on normalisations"
        )


def _refuse_random(program: Any) -> None:
    """Told by the forward's own operator: what it becomes in a backward says less. A dropout that is off draws nothing."""
    for node in program.graph.nodes:
        target = str(node.target)
        reason = refusal(target) if target.startswith("aten.") else None
        if reason is RANDOM and not (node.args and node.args[-1] is False):
            raise TaskRefused(f"{target}: {reason.what}", reason.fix)


def gradients(subject: Subject, wide: bool = False) -> Any:
    """Torch's own autograd: a function of the inputs and of the gradients that come in. In float64 when `wide`."""
    torch = need_torch()
    from kernellab.graph.wide import in_float64

    def run(inputs: list[Any], grads: list[Any]) -> list[Any]:
        leaves = [x.detach().requires_grad_(True) if _is_float(x) else x for x in inputs]
        weights = [p for p in subject.module.parameters() if _is_float(p)]
        for weight in weights:
            weight.requires_grad_(True)
        result = subject.module(*leaves)
        results = [y for y in (result if isinstance(result, list | tuple) else [result]) if _is_float(y)]
        pairs = [(y, g) for y, g in zip(results, grads, strict=True) if y.requires_grad]
        wanted = [*weights, *(x for x in leaves if _is_float(x))]
        made = torch.autograd.grad([y for y, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True)
        return [g for g in made if g is not None]

    def in_wide(inputs: list[Any], grads: list[Any]) -> list[Any]:
        with in_float64():
            return run(inputs, grads)

    return in_wide if wide else run
