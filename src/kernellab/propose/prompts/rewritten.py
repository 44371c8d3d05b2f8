"""A verifier's template that a model wrote: what it may be, before it is rendered even once.

Covered: it ends (no loops, macros, calls or arithmetic), stays small (few prints, plain filters), keeps the protocol
(the parts with the candidate and the reply format are included once, in order, whatever the facts), forges no marker, and
renders for every kind of candidate. Not covered: whether it is any good; labelled trials say that.
"""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kernellab.propose.prompts.markers import inert
from kernellab.propose.prompts.parse import excerpt
from kernellab.propose.prompts.render import Brief, Kind, PromptBook, PromptTooLong, TemplateFault
from kernellab.propose.prompts.replies import FormatFailure

PARTS = ("_soft.j2", "_soft_answer.j2")
FILTERS = frozenset({"params", "first_line", "length", "lower", "upper"})
MOST_PRINTS = 40
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Include, nodes.If, nodes.Compare, nodes.Operand, nodes.Name,
    nodes.Const, nodes.Getattr, nodes.Filter, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.Tuple, nodes.List,
)  # fmt: skip


def refused(kind: Kind, text: str, briefs: Iterable[Brief]) -> FormatFailure | None:
    """Why a rewritten template may not be used; None: it may. It is rendered with each of `briefs`."""
    what = _structure(text) or _rendering(kind, text, briefs)
    if not what:
        return None
    return FormatFailure(expected="improve", fault="bad-template", what=what[:1000], excerpt=excerpt(text))


def _structure(text: str) -> str:
    try:
        tree = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).parse(text)
    except (TemplateSyntaxError, RecursionError) as err:
        where = f"line {err.lineno}: {err.message}" if isinstance(err, TemplateSyntaxError) else "nested too deeply"
        return f"it is no Jinja2: {where}"
    prints = 0
    for node in tree.find_all(nodes.Node):
        name = type(node).__name__
        if not isinstance(node, _ALLOWED):
            return f"line {node.lineno}: {name} is not allowed; there are text, includes, prints and 'if'"
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            return (
                f"line {node.lineno}: the filter '{node.name}' is not allowed; there are {', '.join(sorted(FILTERS))}"
            )
        if isinstance(node, nodes.TemplateData) and inert(node.data) != node.data:
            return f"line {node.lineno}: it writes a marker of the protocol; those come with the included parts"
        if isinstance(node, nodes.Output):
            prints += sum(not isinstance(part, nodes.TemplateData) for part in node.nodes)
    if prints > MOST_PRINTS:
        return f"it prints {prints} values, {MOST_PRINTS} are allowed"
    return _parts(tree)


def _parts(tree: nodes.Template) -> str:
    """Each part once, in order, and under no condition."""
    everywhere = [_included(node) for node in tree.find_all(nodes.Include)]
    at_top = [_included(node) for node in tree.body if isinstance(node, nodes.Include)]
    if everywhere == at_top == list(PARTS):
        return ""
    return f"it must include {' and then '.join(PARTS)}, once each, under no condition, and nothing else"


def _included(node: nodes.Include) -> object:
    return node.template.value if isinstance(node.template, nodes.Const) else None


def _rendering(kind: Kind, text: str, briefs: Iterable[Brief]) -> str:
    book = PromptBook(texts={f"{kind}.j2": text})
    for brief in briefs:
        try:
            book.render(kind, brief)
        except (TemplateFault, PromptTooLong) as fault:
            return fault.what
    return ""
