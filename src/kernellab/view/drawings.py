"""The charts of a page, by the paper's own grammar; a sentence in their place where its packages are not installed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from kernellab.core.errors import KlabError
from kernellab.core.printable import printable
from kernellab.core.records import Timing
from kernellab.report.paper.charts import draw, spec_of
from kernellab.report.paper.figures import Row, Rows, rows_of
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.suite.score import SuiteScore

_MOST_DOTS = 1200
_MOST_PAIRS = 600
_MOST_NAME = 60


@dataclass(frozen=True)
class Drawing:
    """`svg`: made by the chart code alone. `missing`: why there is none."""

    name: str
    title: str
    alt: str
    svg: str = ""
    missing: str = ""


def drawing(name: str, formula: str, rows: Rows, title: str, alt: str) -> Drawing | None:
    """None where there is nothing to draw."""
    if not rows:
        return None
    try:
        return Drawing(name, title, alt, _drawn(formula, json.dumps([_named(row) for row in rows])))
    except KlabError as fault:
        return Drawing(name, title, alt, missing=f"{fault.what} ({fault.fix})")


def _named(row: Row) -> Row:
    """With names that fit into a drawing."""
    return {k: printable(v)[:_MOST_NAME] if isinstance(v, str) else v for k, v in row.items()}


@lru_cache(maxsize=256)
def _drawn(formula: str, rows: str) -> str:
    """The same rows are drawn once, however often a page is looked at."""
    plain: Rows = json.loads(rows)
    return draw(spec_of(formula, plain, {}), plain)


def convergence(run: LedgerPrefix, index: int) -> Drawing | None:
    """Best line, a dot a trial by outcome, baseline and floor."""
    shape = run.shapes[index]
    rows = rows_of("convergence", run, {"shape": index})
    label = f"{shape.task} {shape.label}"
    best = [row["best"] for row in rows if "best" in row]
    lines = {row["state"]: row["line"] for row in rows if "line" in row}
    if not rows or not best:
        return None
    alt = (
        f"Latency of {len(rows) - len(lines)} trials of {label} in order. The best so far is {best[-1]:.4g} µs; "
        f"the fastest baseline took {lines['baseline as calibrated']:.4g} µs, the floor is {lines['floor']:.4g} µs."
    )
    title = f"{label}: latency by trial, with the best so far, the fastest baseline and the floor"
    return drawing(f"chart-{index}", "convergence", thinned(rows), title, alt)


def sweep(run: LedgerPrefix, index: int) -> Drawing | None:
    shape = run.shapes[index]
    rows = rows_of("sweep", run, {"shape": index})
    names = list(dict.fromkeys(row["parameter"] for row in rows))
    label = f"{shape.task} {shape.label}"
    alt = f"Ratio over the baseline of the best kernel's trials at {label}, by the values of {', '.join(names)}."
    return drawing(
        f"sweep-{index}", "sweep", rows[:_MOST_DOTS], f"{label}: what the parameters of the best kernel do", alt
    )


def roofline(run: LedgerPrefix) -> Drawing | None:
    rows = rows_of("roofline", run, {})
    alt = "Best confirmed kernels and their baselines by arithmetic intensity, under the highest ceilings measured."
    return drawing("roofline", "roofline", rows, "Confirmed kernels under the measured ceilings", alt)


def samples(timing: Timing, name: str = "samples") -> Drawing | None:
    every = max(1, len(timing.candidate_s) // _MOST_PAIRS)
    rows: Rows = [
        {"pair": pair, "us": float(f"{seconds * 1e6:.7g}"), "side": side}
        for side, taken in (("candidate", timing.candidate_s), (f"baseline {timing.baseline}", timing.baseline_s))
        for pair, seconds in list(enumerate(taken))[::every]
    ]
    alt = (
        f"{len(timing.candidate_s)} pairs of samples: the candidate's median is {timing.latency_s * 1e6:.4g} µs a call, "
        f"{timing.speedup:.3f} times as fast as {timing.baseline}."
    )
    return drawing(name, "samples", rows, "Every pair of samples in its order", alt)


def fast_p(score: SuiteScore) -> Drawing | None:
    """The share of the tasks that ran whose lower end lies above p; what is no win is nowhere above."""
    ran = [row for row in score.rows if row.ran]
    if not ran:
        return None
    lows = sorted(row.speedup_low for row in ran if row.won and row.speedup_low is not None)
    rows: Rows = [{"p": 0.0, "share": len(lows) / len(ran)}]
    rows += [{"p": low, "share": (len(lows) - at) / len(ran)} for at, low in enumerate(lows)]
    rows.append({"p": (lows[-1] if lows else 1.0) * 1.05, "share": 0.0})
    alt = f"Of {len(ran)} tasks that ran, {len(lows)} were won; the curve falls with the speed-up that is asked for."
    return drawing(
        "fast-p", "fast_p", rows, "fast_p: share of the tasks faster than p times the strongest baseline", alt
    )


def thinned(rows: Rows, most: int = _MOST_DOTS) -> Rows:
    """Of very many trials every so many, and all at which the best line steps; lines stay."""
    dots = [row for row in rows if "number" in row]
    every = -(-len(dots) // most)
    if every <= 1:
        return rows
    kept, best = [], None
    for at, row in enumerate(dots):
        if at % every == 0 or row.get("best") != best or at == len(dots) - 1:
            kept.append(row)
        best = row.get("best")
    return kept + [row for row in rows if "number" not in row]
