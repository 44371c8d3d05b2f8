"""From facts to blocks: templates are rendered, their markup parsed, figures drawn. Errors name file and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    PackageLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.exceptions import TemplateError, TemplateRuntimeError
from jinja2.sandbox import SandboxedEnvironment

from kernellab.core.errors import UsageError
from kernellab.ledger import kinds
from kernellab.report.paper import charts
from kernellab.report.paper.claims import ClaimBook
from kernellab.report.paper.document import Block, FigureFile, Table, parse
from kernellab.report.paper.facts import Facts
from kernellab.report.paper.figures import digest_of, rows_of
from kernellab.report.paper.tables import make_codes, make_tables

MAIN = "paper.md.j2"
_FIGURE_SHAPES = 6
_MOST_REPEATED = 10_000


@dataclass(frozen=True)
class Drawing:
    file: FigureFile
    svg: str
    caption: str


@dataclass(frozen=True)
class Parts:
    """What a template may show by name, whatever its words are."""

    tables: dict[str, Table]
    codes: dict[str, str]
    drawings: dict[str, Drawing]


def draw_figures(book: ClaimBook, facts: Facts) -> dict[str, Drawing]:
    """Roofline, and for each of the first few shapes its convergence and its sweep. What has no rows is not drawn."""
    wanted: list[tuple[str, str, dict[str, Any], str, str]] = [(
        "roofline", "roofline", {}, "Roofline: best kernels and their baselines under the ceilings measured in this run.",
        "Roofline plot: a roof of measured copy rate and arithmetic rate, with a point for the best kernel and one for the "
        "fastest baseline of each shape.",
    )]  # fmt: skip
    for shape in facts.shapes[:_FIGURE_SHAPES]:
        where = f"{shape.shape.task}, {shape.shape.label}"
        wanted.append((
            f"convergence{_letter(shape.index)}", "convergence", {"shape": shape.index}, f"Convergence at {shape.label}.",
            f"Convergence at {where}: latency of every trial in order, the best so far, the fastest baseline and the floor.",
        ))  # fmt: skip
        if facts.has["study"]:
            continue
        wanted.append((
            f"sweep{_letter(shape.index)}", "sweep", {"shape": shape.index},
            f"Parameters of the best kernel's source at {shape.label}.",
            f"Sweep at {where}: ratio over the baseline by value of each parameter of the best kernel's source.",
        ))  # fmt: skip
    drawn = {}
    for name, formula, args, caption, alt in wanted:
        rows = rows_of(formula, book.evidence, args)
        if not rows:
            continue
        spec = charts.spec_of(formula, rows, args)
        svg = charts.draw(spec, rows)
        file = FigureFile(name=name, formula=formula, args=args, rows=rows, sha256=digest_of(rows), spec=spec, alt=alt,
                          labels=charts.words_in(svg))  # fmt: skip
        drawn[name] = Drawing(file, svg, caption)
    return drawn


def make_parts(book: ClaimBook, facts: Facts) -> Parts:
    return Parts(make_tables(book, facts), make_codes(book, facts), draw_figures(book, facts))


def compose(book: ClaimBook, facts: Facts, parts: Parts, template: Path | None, polished: bool) -> list[Block]:
    text = _render(template, _context(book, facts, parts, polished))
    return parse(text, parts.tables, parts.codes, {name: d.caption for name, d in parts.drawings.items()})


def _context(book: ClaimBook, facts: Facts, parts: Parts, polished: bool) -> dict[str, Any]:
    ev = book.evidence
    missing = sorted(ev.genesis.missing_baselines)
    failed = {(e.seq, name) for e in ev.of(kinds.CALIBRATION) for name in e.record.failed}
    headline = facts.headline
    return {
        **{name: getattr(facts, name) for name in (
            "task", "run", "device", "started", "root", "size", "environment", "tier", "trusts", "ended", "unit", "shapes",
            "counts", "s", "has", "marks", "published", "headline")},
        "headline_trial": book.field(headline.best, "trial", "id") if headline and headline.best is not None else "",
        "missing": [book.mint("missing_baseline", [0], "words", name=name) for name in missing],
        "failed_baselines": [book.mint("failed_baseline", [seq], "words", name=name) for seq, name in sorted(failed)],
        "tables": sorted(parts.tables),
        "codes": sorted(parts.codes),
        "figures": list(parts.drawings),
        "polished": polished,
        "constant": book.constant,
    }  # fmt: skip


def _render(template: Path | None, context: Mapping[str, Any]) -> str:
    """The one boundary at which template errors become errors with a fix."""
    own = {}
    if template is not None:
        try:
            own = {MAIN: template.read_text(encoding="utf-8")}
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the template {template} cannot be read: {error}", "give a text file") from None
    name = str(template or MAIN)
    # Text for our own markup, whose renderers escape: HTML escapes here would end up in the PDF.
    environment = _Bounded(
        loader=ChoiceLoader([DictLoader(own), PackageLoader("kernellab.report.paper", "templates")]),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False,
    )  # fmt: skip
    environment.tests["match_sweep"] = lambda text: str(text).startswith("sweep")
    try:
        return environment.get_template(MAIN).render(context)
    except TemplateSyntaxError as error:
        where = f"{name if template and error.name in (None, MAIN) else error.name}, line {error.lineno}"
        raise UsageError(f"template error in {where}: {error.message}", "correct the template") from None
    except TemplateNotFound as error:
        raise UsageError(
            f"the template {name} includes '{error.name}', which is not there", "correct its name"
        ) from None
    except (
        TemplateError,
        TypeError,
        AttributeError,
        LookupError,
        ValueError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise UsageError(
            f"template error in {name}: {error}", f"names it may use: {', '.join(sorted(context))}"
        ) from None


class _Bounded(SandboxedEnvironment):
    """A slip of a key must not fill the memory: a text is repeated so often and no oftener, and powers stay small."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        repeated = [len(side) for side in (left, right) if hasattr(side, "__len__")]
        numbers = [abs(side) for side in (left, right) if isinstance(side, int)]
        if (repeated or operator == "**") and max((*numbers, 1)) * max((*repeated, 1)) > _MOST_REPEATED:
            raise TemplateRuntimeError(f"'{operator}' makes too much of it")
        return super().call_binop(context, operator, left, right)


def _letter(number: int) -> str:
    """Names of figures hold no digit, as no word of a paper does."""
    return "abcdefghijklmnopqrstuvwxyz"[number]
