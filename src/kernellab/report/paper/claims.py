"""Claims: each number and each recorded word of a paper, with the entries and the formula it follows from.

In the text of a paper a claim stands as a mark; only renderers put its printed text in that place. So a paper has no digit
that is not a claim, and ledger text never mixes with the markup of a renderer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from kernellab.core.ids import canonical_json
from kernellab.core.records import Record
from kernellab.report.paper.formulas import FORMULAS, Dimension, Value, derive
from kernellab.report.paper.ledger_prefix import LedgerPrefix, spans, unspan

MARK = re.compile(r"⟦(c\d+)⟧")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff\ue000-\uf8ff⟦⟧\\]")
_QUOTES = re.compile('["“”„‟«»]')


class Claim(Record):
    """`entries` as spans ("3,9-36"); `about` names the shape, so that the claims of one row can be held together."""

    id: str
    formula: str
    entries: str
    args: dict[str, Any] = Field(default_factory=dict)
    value: float | int | str
    unit: str
    form: str
    printed: str
    about: str = ""

    @property
    def mark(self) -> str:
        return f"⟦{self.id}⟧"


@dataclass(frozen=True)
class Form:
    """How a value is printed. `digits` decimals after `scale`; `shown`: whether the unit stands beside the number."""

    dimensions: tuple[Dimension, ...]
    unit: str
    write: Callable[[Value], str]
    code: bool = False


def _fixed(dimension: Dimension, unit: str, scale: float, digits: int, shown: bool) -> Form:
    def write(value: Value) -> str:
        if isinstance(value, str) or not math.isfinite(value):
            raise ValueError(f"{value!r} is no number")
        text = f"{value * scale:,.{digits}f}"
        return f"{text} {unit}" if shown and unit else text

    return Form((dimension,), unit, write)


def _whole(value: Value) -> str:
    if isinstance(value, str) or value != int(value):
        raise ValueError(f"{value!r} is no whole number")
    return f"{int(value):,}"


def _plain(value: Value) -> str:
    """Words as recorded: what no font can print, and the signs of a paper's own marks, become a plain sign."""
    return _UNPRINTABLE.sub("/", str(value)).replace("\t", " ")


def _brief(most: int) -> Callable[[Value], str]:
    def write(value: Value) -> str:
        text = " ".join(_plain(value).split())
        return text if len(text) <= most else text[: most - 1].rstrip() + "…"

    return write


def _quoted(text: str) -> str:
    """Somebody's own words, which cannot end the quotation they stand in."""
    return f"“{_QUOTES.sub(chr(39), text)}”"


def _significant(value: Value) -> str:
    if isinstance(value, str):
        raise ValueError(f"{value!r} is no number")
    return f"{value:.3g}"


FORMS: dict[str, Form] = {
    "us": _fixed("time", "µs", 1e6, 2, False),
    "ms": _fixed("time", "ms", 1e3, 3, False),
    "us+": _fixed("time", "µs", 1e6, 2, True),
    "ms+": _fixed("time", "ms", 1e3, 3, True),
    "s+": _fixed("time", "s", 1, 1, True),
    "ms1+": _fixed("time", "ms", 1e3, 1, True),
    "gbps": _fixed("rate", "GB/s", 1, 1, False),
    "gbps+": _fixed("rate", "GB/s", 1, 1, True),
    "ratio": _fixed("ratio", "", 1, 3, False),
    "ratio+": _fixed("ratio", "×", 1, 3, True),
    "percent": _fixed("share", "%", 100, 1, False),
    "percent+": _fixed("share", "%", 100, 1, True),
    "percent2+": _fixed("share", "%", 100, 2, True),
    "level": Form(("any",), "%", lambda v: f"{float(v) * 100:.0f} %"),
    "share+": Form(("any",), "%", lambda v: f"{float(v) * 100:.1f} %"),
    "usd+": Form(("any",), "USD", lambda v: f"{float(v):.4f} USD"),
    "seconds+": Form(("any", "time"), "s", lambda v: f"{float(v):,.1f} s"),
    "ulp": Form(("any",), "ULP", lambda v: f"{float(v):.3f}"),
    "error": Form(("any", "error"), "", _significant),
    "number3": Form(("any",), "", lambda v: f"{float(v):.3f}"),
    "number": Form(("any", "ratio"), "", _significant),
    "number4": Form(("any", "ratio"), "", lambda v: f"{float(v):.4g}"),
    "gflops": _fixed("arithmetic", "Gflop/s", 1, 1, False),
    "whole": Form(("count", "bytes", "any"), "", _whole),
    "bytes+": Form(("count", "bytes", "any"), "B", lambda v: f"{_whole(v)} B"),
    "id": Form(("count", "any"), "", lambda v: f"{int(v)}"),
    "words": Form(("text", "any"), "", _brief(400)),
    "quote": Form(("text", "any"), "", lambda v: _quoted(_brief(400)(v))),
    "short": Form(("text", "any"), "", _brief(110)),
    "code": Form(("text", "any"), "", _brief(200), code=True),
    "digest": Form(("text", "any"), "", lambda v: str(v)[:16], code=True),
    "lines": Form(("text", "any"), "", _plain, code=True),
}  # fmt: skip


def printed(form: str, formula: str, value: Value) -> str:
    """ValueError where the form does not fit the kind of quantity: a share is not printed as a time."""
    if form not in FORMS:
        raise ValueError(f"there is no form '{form}'")
    dimension = FORMULAS[formula].dimension
    if dimension != "any" and dimension not in FORMS[form].dimensions:
        raise ValueError(f"a {dimension} cannot be printed as '{form}'")
    text = FORMS[form].write(value)
    if not text.strip():
        raise ValueError("an empty text")
    return text


class ClaimBook:
    """Mints claims from evidence; the same claim asked for twice is one."""

    def __init__(self, evidence: LedgerPrefix) -> None:
        self.evidence = evidence
        self.claims: dict[str, Claim] = {}
        self._known: dict[bytes, str] = {}

    def mint(self, formula: str, seqs: Sequence[int], form: str, about: str = "", **args: Any) -> str:
        """The mark that stands for the claim in a text."""
        key = canonical_json([formula, list(seqs), form, about, args])
        if key not in self._known:
            value = derive(formula, self.evidence, seqs, args)
            name = f"c{len(self.claims) + 1}"
            self.claims[name] = Claim(
                id=name, formula=formula, entries=_named(seqs), args=args, value=value, unit=FORMS[form].unit,
                form=form, printed=printed(form, formula, value), about=about,
            )  # fmt: skip
            self._known[key] = name
        return self.claims[self._known[key]].mark

    def value(self, mark: str) -> Value:
        return self.claims[mark[1:-1]].value

    def field(self, seq: int, path: str, form: str = "words", about: str = "") -> str:
        return self.mint("field", [seq], form, about, path=path)

    def count(self, kind: str, where: Mapping[str, Any] | None = None) -> str:
        where = dict(where or {})
        return self.mint("count", self.evidence.matching(kind, where), "whole", kind=kind, where=where)

    def total(self, kind: str, path: str, form: str, where: Mapping[str, Any] | None = None) -> str:
        where = dict(where or {})
        return self.mint("total", self.evidence.matching(kind, where), form, kind=kind, where=where, path=path)

    def constant(self, name: str, form: str = "words") -> str:
        return self.mint("constant", [], form, name=name)


def _named(seqs: Sequence[int]) -> str:
    """Order matters to formulas over two entries, so only ascending lists are folded into spans."""
    ascending = list(seqs) == sorted(set(seqs))
    return spans(list(seqs)) if ascending else ",".join(map(str, seqs))


def problem_with(claim: Claim, evidence: LedgerPrefix) -> str:
    """What is wrong with a claim against this evidence; empty where it follows. The boundary for claims from outside."""
    try:
        seqs = unspan(claim.entries)
        if any(not 0 <= seq < evidence.size for seq in seqs):
            return f"names entries {claim.entries}, the ledger has {evidence.size}"
        value = derive(claim.formula, evidence, seqs, claim.args)
        text = printed(claim.form, claim.formula, value)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError) as error:
        return f"cannot be derived: {type(error).__name__}: {error}"
    if value != claim.value or isinstance(value, str) != isinstance(claim.value, str):
        return f"has the value {claim.value!r}, the ledger gives {value!r}"
    if text != claim.printed:
        return f"is printed as '{claim.printed}', its value gives '{text}'"
    if claim.unit != FORMS[claim.form].unit:
        return f"has the unit '{claim.unit}', its form is in '{FORMS[claim.form].unit}'"
    return ""
