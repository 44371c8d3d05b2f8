"""What the template of a KernelBench solution says: a ModelNew over the problem's own code and one certified kernel."""

from __future__ import annotations

import ast
import re
from typing import Any

from kernellab.certify.interface import Interface
from kernellab.certify.package_order import Order
from kernellab.certify.problem_section import Section
from kernellab.core.errors import UsageError
from kernellab.core.targets import home_of, platform_facts
from kernellab.graph.record import TensorType
from kernellab.tasks.spec import Buffer

_KNOWN_CALLS = frozenset({"min", "max", "abs", "int", "float"})


def solution_facts(order: Order, interface: Interface, section: Section) -> dict[str, Any]:
    """Everything but the kernel's own text."""
    inputs, outputs = _types(order)
    places = _places(order)
    tensors = [_as_buffer(f"tensors[{n}]", kind) for n, kind in enumerate(inputs)]
    results = [_as_result(f"outputs[{n}]", kind) for n, kind in enumerate(outputs)]
    return {
        **interface.facts(),
        "problem_title": section.title,
        "problem": section.text,
        "state": f"({', '.join(f'attrgetter({p!r})' if p else 'None' for p in places)},)",
        "plain": repr(section.plain),
        "types": f"({', '.join(f'(torch.{k.dtype}, {len(k.extents)})' for k in inputs)},)",
        "buffers": ", ".join(tensors) + ",",
        "results": f"[{', '.join(results)}]",
        "conditions": _conditions(order, interface),
        "eval_only": section.source is not None and section.source.eval_mode,
        "device": platform_facts(home_of(order.backend)).torch,
    }


def refuse_clashes(**sections: str) -> None:
    """A name that two parts of the file define for themselves would be the last one's in both."""
    owners: dict[str, str] = {}
    for part, text in sections.items():
        for name in _defined(ast.parse(text)):
            if name in owners and owners[name] != part:
                raise UsageError(f"'{name}' is defined by the {owners[name]} and by the {part}",
                                 f"give it another name in the {owners[name]}'s file, and certify it anew")  # fmt: skip
            owners[name] = part


def literal(text: str) -> str:
    """A text as a constant that people can read."""
    return f'r"""\n{text}"""' if '"""' not in text and not text.endswith(("\\", '"')) else repr(text)


def without_head(text: str) -> str:
    """A module's text without its docstring and what must stand at the top of a file."""
    lines = text.splitlines(keepends=True)
    for number, node in enumerate(ast.parse(text).body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            for line in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[line] = "\n"
    return "".join(lines).strip("\n") + "\n"


def _defined(tree: ast.Module) -> set[str]:
    """Names that a text gives a meaning of its own; imports mean the same everywhere."""
    named = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in tree.body if isinstance(n, ast.AnnAssign | ast.AugAssign)]
    return named | {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _types(order: Order) -> tuple[list[TensorType], list[TensorType]]:
    """As the problem has them: a task's buffers hold booleans as bytes and single numbers as one element."""
    if order.module is not None:
        graph = order.module.graph
        return [i.type for i in graph.inputs], [o.type for o in graph.outputs]
    return [_plain_type(b) for b in order.task.inputs], [_plain_type(b) for b in order.task.outputs]


def _plain_type(buffer: Buffer) -> TensorType:
    return TensorType(dtype=buffer.dtype, extents=tuple(str(e) for e in buffer.extents))


def _places(order: Order) -> list[str]:
    if order.module is None:
        return [""] * len(order.task.inputs)
    inputs = order.module.graph.inputs
    if constant := next((i.name for i in inputs if i.role == "constant"), ""):
        raise UsageError(f"'{order.task.name}' holds a large tensor in its code ('{constant}')",
                         "make it a buffer of the module, self.register_buffer(...), and certify it anew")  # fmt: skip
    return [i.source if i.role != "input" else "" for i in inputs]


def _as_buffer(tensor: str, kind: TensorType) -> str:
    shaped = tensor if kind.extents else f"{tensor}.reshape(1)"
    return f"{shaped}.view(torch.uint8)" if kind.dtype == "bool" else shaped


def _as_result(tensor: str, kind: TensorType) -> str:
    typed = f"{tensor}.view(torch.bool)" if kind.dtype == "bool" else tensor
    return typed if kind.extents else f"{typed}.reshape(())"


def _conditions(order: Order, interface: Interface) -> str:
    """Torch's conditions on the sizes: outside them the graph is another one."""
    requires = order.module.graph.requires if order.module is not None else ()
    extents = [str(e) for b in (*order.task.inputs, *order.task.outputs) for e in b.extents]
    calls = {c for text in (*requires, *extents) for c in re.findall(r"(\w+)\s*\(", text)}
    if unknown := sorted(calls - _KNOWN_CALLS - {"and", "or", "not"}):
        raise UsageError(
            f"the sizes of '{order.task.name}' need {unknown[0]}()", "only plain arithmetic can be exported"
        )
    return " and ".join(f"({interface.in_dims(c)})" for c in requires) or "True"
