"""A GPU candidate as a plain module: its kernels and its launch() word for word, on torch tensors instead of stand-ins.

Only what differs between the two is rewritten: `.dtype` (a word, not a torch dtype), `.size` and `.strides` of launch()'s
buffers; what the laboratory alone reads (SPACE, TASKS) is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kernellab.certify.certificate import Certificate
from kernellab.core.errors import UsageError
from kernellab.core.targets import export_of

_INSTEAD = {"dtype": "dtype_of({})", "size": "{}.numel()", "strides": "{}.stride()"}
_LEFT_OUT = ("SPACE", "TASKS", "FLAGS")
_LAB_OPTIONS = ("--gpu-architecture=", "--ptxas-options=", "--include-path=")


def plain_module(text: str, certificate: Certificate, buffers: int, imports: bool = True) -> str:
    """The text of kernel_N.py. Without `imports`, what stands for the laboratory is above it in the same file."""
    tree = ast.parse(text)
    launch = _launch_of(tree, certificate.kernel.name)
    names = [a.arg for a in (*launch.args.posonlyargs, *launch.args.args)][:buffers]
    if len(names) < buffers:
        raise UsageError(f"launch() of {certificate.kernel.name} does not name its buffers", "write them as parameters")
    _refuse_passing(tree, launch, set(names), certificate.kernel.name)
    edits: list[tuple[ast.stmt | ast.Attribute, str]] = [(node, "") for node in tree.body if _is_left_out(node)]
    edits += [
        (node, new) for node in ast.walk(launch) if isinstance(node, ast.Attribute) and (new := _instead(node, names))
    ]
    edited = _edited(text, edits)
    if not _means_the_same(edited, text, names):  # places inside f-strings are not always told rightly
        edits = [e for e in edits if isinstance(e[0], ast.stmt)]
        edits.append(
            (launch, ast.unparse(_OnTensors(names).visit(_launch_of(ast.parse(text), certificate.kernel.name))))
        )
        edited = _edited(text, edits)
    return _with_runtime(edited, certificate, imports)


def _instead(node: ast.Attribute, names: Sequence[str]) -> str:
    """What is written for an attribute of a buffer that a tensor has under another name, or ''."""
    if isinstance(node.value, ast.Name) and node.value.id in names and node.attr in _INSTEAD:
        return _INSTEAD[node.attr].format(node.value.id)
    return ""


class _OnTensors(ast.NodeTransformer):
    """The same rewriting on the tree, where no place can be mistaken."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        new = _instead(node, self._names)
        return ast.parse(new, mode="eval").body if new else node


def _means_the_same(edited: str, text: str, names: Sequence[str]) -> bool:
    try:
        ours = _launch_of(ast.parse(edited), "")
    except (SyntaxError, UsageError):
        return False
    return ast.dump(ours) == ast.dump(_OnTensors(names).visit(_launch_of(ast.parse(text), "")))


def accepted_params(text: str, certificate: Certificate) -> dict[str, object]:
    """The parameters that launch() takes; the others are macros of the source."""
    launch = _launch_of(ast.parse(text), certificate.kernel.name)
    known = {a.arg for a in (*launch.args.posonlyargs, *launch.args.args, *launch.args.kwonlyargs)}
    every = launch.args.kwarg is not None
    return {k: v for k, v in certificate.kernel.params.items() if every or k in known}


def _launch_of(tree: ast.Module, name: str) -> ast.FunctionDef:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "launch":
            return node
    raise UsageError(f"{name} has no launch() at the top of its file", "only such candidates can be exported")


def _refuse_passing(tree: ast.Module, launch: ast.FunctionDef, buffers: set[str], name: str) -> None:
    """A host function that is given a buffer would see a tensor where it saw a stand-in."""
    plain = {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.decorator_list}
    for call in ast.walk(launch):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in plain:
            continue
        if any(isinstance(a, ast.Name) and a.id in buffers for a in (*call.args, *(k.value for k in call.keywords))):
            raise UsageError(f"launch() of {name} hands a buffer to {call.func.id}()",
                             "hand over its shape instead: only kernels may be given buffers in exported code")  # fmt: skip


def _is_left_out(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id in _LEFT_OUT for t in node.targets)
    return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kernellab"


def _edited(text: str, edits: list[tuple[ast.stmt | ast.Attribute, str]]) -> str:
    """The text with these nodes replaced; from the end, so that places stay true."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for node, new in sorted(edits, key=lambda e: (-e[0].lineno, -e[0].col_offset)):
        last = (node.end_lineno or node.lineno) - 1
        tail = lines[last][node.end_col_offset or 0 :]
        lines[node.lineno - 1] = lines[node.lineno - 1][: node.col_offset] + new.encode() + tail
        for gone in range(node.lineno, last + 1):
            lines[gone] = b""
    return b"".join(lines).decode()


def _with_runtime(text: str, certificate: Certificate, imports: bool) -> str:
    """The one import that stands for the laboratory, after the docstring; the compiled kernels at the end."""
    tree = ast.parse(text)
    head = tree.body[0] if tree.body and ast.get_docstring(tree) is not None else None
    at = (head.end_lineno or 0) if head is not None else 0
    lines = text.splitlines(keepends=True)
    compiled = export_of(certificate.kernel.backend).compiled
    names = ["Kernels"] if compiled else []
    names += [n for n in ("dtype_of", "scratch") if f"{n}(" in text]
    if names and imports:
        lines.insert(at, f"\nfrom ._launch import {', '.join(names)}\n")
    whole = "".join(lines).rstrip() + "\n"
    if compiled:
        options = [f for f in certificate.kernel.flags if not f.startswith(_LAB_OPTIONS)]
        whole += f"\n\nkernel = Kernels(SOURCE, {options!r})\n"
    return whole
