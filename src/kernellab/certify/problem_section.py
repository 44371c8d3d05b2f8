"""The problem's own code as it stands in an exported ModelNew: word for word, but for the name of its class.

The solution derives from that class, so that it is made with the same arguments, draws the same weights in the same order
and falls back on its forward(). What is written is captured once more: it must be the graph that was certified.
Covered: the text runs in the capture sandbox alone. Not covered: what a later version of torch makes of the same text.
"""

from __future__ import annotations

import ast
import io
import os
import tempfile
import tokenize
from contextlib import nullcontext
from dataclasses import dataclass

from kernellab.certify.inline_source import NotInlined, inline_source
from kernellab.core.errors import UsageError
from kernellab.graph.capture import Capturer
from kernellab.graph.record import GraphRecord, Plain
from kernellab.graph.source import Request
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.modules.record import ModuleRecord, Source
from kernellab.tasks.spec import Task

BASE = "_Problem"
"""What the problem's class is called in a solution, beside the evaluator's own Model."""
_OF_FUNCTION = """

class {base}(torch.nn.Module):
    def forward(self, *given, **named):
        return {name}(*given, **named)
"""


@dataclass(frozen=True)
class Section:
    """`plain`: arguments of forward() that are no tensors, by their place, with the value they were captured at."""

    title: str
    text: str
    plain: dict[int, Plain]
    source: Source | None


def section_of_module(record: ModuleRecord, capturer: Capturer | None = None) -> Section:
    """Of a module; UsageError where its text cannot stand in a solution. Without a `capturer` one is opened, for seconds."""
    source = record.origin.source
    if source is None:
        raise UsageError(f"the run has no text of '{record.name}' that a ModelNew could be made from",
                         "give the problem's file: --problem FILE.py:Model; gradients have no such form")  # fmt: skip
    tree = _parsed(source.text, record.name)
    target = next(
        (n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == source.name), None
    )
    if target is None:
        raise UsageError(
            f"'{source.name}' is not defined at the top of its file", "define it there, and import it anew"
        )
    if isinstance(target, ast.ClassDef):
        text, made = _renamed(source.text, source.name, BASE), "but for the name of its class"
    else:
        text = "import torch\n\n" if not _imports_torch(tree) else ""
        text = _after_future(source.text, text) + _OF_FUNCTION.format(base=BASE, name=source.name)
        made = "and a class around it"
    _same_graph(record, source, text, capturer)
    return Section(
        f"the problem's own code, word for word {made}", text.strip("\n"), _plain(record.graph, target), source
    )


def section_of_task(task: Task) -> Section:
    """Of a hand-written task: its torch expression in a module without weights, and inputs of the timed shape."""
    expression = task.gpu_baselines.get("torch")
    if expression is None or not all(is_float(b.dtype) for b in task.inputs):
        raise UsageError(f"'{task.name}' has no torch expression over floats that a ModelNew could fall back on",
                         "use --as module; or give the task gpu_baselines={'torch': ...}")  # fmt: skip
    try:
        carried = inline_source({"expression": expression})
    except NotInlined as err:
        raise UsageError(f"the torch expression of '{task.name}' cannot be carried into a file of its own: {err}",
                         "write it as a plain function over torch; or use --as module") from None  # fmt: skip
    drawn = ", ".join(f"torch.randn({b.shape(task.tune[0])}).to(torch.{b.dtype})" for b in task.inputs)
    inputs = f"\n\ndef get_inputs():\n    return [{drawn}]\n\n\ndef get_init_inputs():\n    return []\n"
    text = "import torch\n\n" + carried.strip("\n") + "\n" + _OF_FUNCTION.format(base=BASE, name="expression") + inputs
    return Section("what is computed, as a torch expression", text.strip("\n"), {}, None)


def _parsed(text: str, name: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as err:
        raise UsageError(f"the text of '{name}' is no Python: {err.msg}", "import the module again") from None


def _imports_torch(tree: ast.Module) -> bool:
    aliases = [a for n in tree.body if isinstance(n, ast.Import) for a in n.names]
    return any((a.asname or a.name) == "torch" for a in aliases)


def _after_future(text: str, line: str) -> str:
    """`line` goes behind what must come first in a file."""
    last = 0
    for number, node in enumerate(ast.parse(text).body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            last = node.end_lineno or 0
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:last], line, *lines[last:]])


def _renamed(text: str, old: str, new: str) -> str:
    """A class under another name wherever it is named; attributes of that name are left alone."""
    lines = text.splitlines(keepends=True)
    found = []
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string == old and before != ".":
            found.append(token.start)
        before = token.string
    for row, column in reversed(found):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "".join(lines)


def _plain(graph: GraphRecord, target: ast.ClassDef | ast.FunctionDef) -> dict[int, Plain]:
    """By place: records sort the names of arguments."""
    if not graph.fixed:
        return {}
    functions = [n for n in target.body if isinstance(n, ast.FunctionDef) and n.name == "forward"]
    own = isinstance(target, ast.FunctionDef)
    function = target if isinstance(target, ast.FunctionDef) else functions[0] if functions else None
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)] if function else []
    names = names if own else names[1:]
    if unknown := [n for n in graph.fixed if n not in names]:
        raise UsageError(f"forward() does not name its argument '{unknown[0]}'", "name its arguments one by one")
    return {names.index(n): value for n, value in graph.fixed.items()}


def _same_graph(record: ModuleRecord, source: Source, text: str, capturer: Capturer | None) -> None:
    """Where the text imports what lay beside it, or is another problem's, this says so."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "problem.py")
        request = Request(file, BASE, source.init, source.inputs, source.eval_mode, text)
        with nullcontext(capturer) if capturer is not None else Capturer([folder]) as opened:
            found = opened.capture(request)
    if found.digest != record.graph.digest:
        raise UsageError(f"the problem's text is not the one that was certified as '{record.name}'",
                         "give the very file that was imported; with another version of torch, certify it anew")  # fmt: skip
