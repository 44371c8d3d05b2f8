"""An outcome as a notebook shows it: a table of figures with intervals, what is said of each shape, and a bar for each."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kernellab.core.time_words import time_words
from kernellab.ledger.records import AnyResult, Published

_WIDTH = 160


def outcome_html(results: Sequence[AnyResult], folder: str, root: str) -> str:
    """No figure without its interval; texts of candidates are escaped."""
    head = "".join(
        f"<th>{name}</th>" for name in ("shape", "result", "speed-up [95 %]", "", "over", "latency", "of floor")
    )
    most = max((r.speedup_high for r in results if isinstance(r, Published)), default=1.0)
    rows = "".join(f"<tr>{_cells(result, most)}</tr>" for result in results)
    said = "".join(f"<p>{escape(result.reason)}</p>" for result in results)
    where = f"<p><small>run {escape(folder)}, ledger root {escape(root)}</small></p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{said}{where}"


def _cells(result: AnyResult, most: float) -> str:
    shape = escape(f"{result.task} " + ",".join(f"{k}={v}" for k, v in result.dims.items()))
    if not isinstance(result, Published):
        return f"<td>{shape}</td><td>{result.status}</td>" + "<td></td>" * 5
    figure = f"{result.speedup:.3f}x [{result.speedup_low:.3f}, {result.speedup_high:.3f}]"
    cells = (shape, result.status, figure, _bar(result, most), escape(result.baseline),
             time_words(result.latency_s), f"{100 * result.of_floor:.0f} %")  # fmt: skip
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _bar(result: Published, most: float) -> str:
    """The speed-up as a bar, its interval as a line, and 1x as a tick."""
    at = [round(_WIDTH * value / most) for value in (result.speedup, result.speedup_low, result.speedup_high, 1.0)]
    return (
        f'<svg width="{_WIDTH}" height="14" role="img" aria-label="{result.speedup:.3f}x">'
        f'<rect width="{at[0]}" height="10" y="2" fill="#7aa6c2"/>'
        f'<line x1="{at[1]}" x2="{at[2]}" y1="7" y2="7" stroke="black"/>'
        f'<line x1="{at[3]}" x2="{at[3]}" y1="0" y2="14" stroke="gray" stroke-dasharray="2"/></svg>'
    )
