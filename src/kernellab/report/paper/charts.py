"""Drawings from rows: one Vega-Lite grammar (altair), drawn by vl-convert; the same SVG goes into the PDF and the page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from kernellab.core.errors import EnvironmentFault
from kernellab.core.ids import sha256_hex
from kernellab.core.printable import printable
from kernellab.report.paper.figures import Rows

if TYPE_CHECKING:
    import altair

EXTRA = "pip install 'kernellab[paper]'"
FONT = "Libertinus Serif"
_VEGA_LITE = "6.1"
_DATA = "rows"
_WIDTH, _HEIGHT = 470, 175
_PANELS, _PANEL, _LINE = 3, 130, 520  # sweep panels in a row, their greatest width, and that of a row of them
_STATES = ["measured", "rejected", "failed"]
_STATE_COLOURS = ["#4c78a8", "#d62728", "#8c6d31"]
_LINES = ["best so far", "baseline as calibrated", "floor"]
_LINE_COLOURS = ["#1b7837", "#111111", "#7f7f7f"]
_LINE_DASHES = [[1, 0], [6, 3], [2, 2]]
_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
Spec = dict[str, Any]


def tool_version(package: str) -> str:
    """The installed version of a tool of the extra; a fault that names the extra where it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        raise EnvironmentFault(f"papers need the package '{package}', which is not installed", EXTRA) from None


def spec_of(formula: str, rows: Rows, args: Mapping[str, Any]) -> Spec:
    """The drawing without its data, which are the rows."""
    try:
        import altair
    except ImportError:
        raise EnvironmentFault("papers need the package 'altair', which is not installed", EXTRA) from None
    chart = _CHARTS[formula](altair, rows)
    spec: Spec = _themed(chart).to_dict(validate=False)
    return spec


def draw(spec: Spec, rows: Rows) -> str:
    """SVG text, the same for the same version of vl-convert. Without control characters: one in a name, and it would end
    the whole process."""
    return _svg(json.dumps(_drawable({**spec, "datasets": {_DATA: rows}})))


def _drawable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_drawable(k): _drawable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_drawable(v) for v in value]
    return printable(value) if isinstance(value, str) else value


@lru_cache(maxsize=64)
def _svg(spec: str) -> str:
    try:
        import vl_convert
    except ImportError:
        raise EnvironmentFault("papers need the package 'vl-convert-python', which is not installed", EXTRA) from None
    try:
        return str(vl_convert.vegalite_to_svg(spec, vl_version=_VEGA_LITE))
    except ValueError as error:
        first = str(error).splitlines()[0]
        raise EnvironmentFault(f"a figure cannot be drawn: {first}", "make the paper again from the run") from None


@cache
def hand() -> str:
    """A digest of how texts are laid out here: an installed font of the same name would move labels by a little."""
    words = [{"x": n, "y": f"{n} latency, µs (log) softmax_row_triton"} for n in range(3)]
    encoding = {"x": {"field": "x", "type": "quantitative"}, "color": {"field": "y", "type": "nominal"},
                "y": {"field": "y", "type": "nominal"}}  # fmt: skip
    probe = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "data": {"name": _DATA}, "mark": "point",
             "encoding": encoding, "config": {"font": FONT}}  # fmt: skip
    return sha256_hex(draw(probe, words).encode())[:16]


def words_in(svg: str) -> list[str]:
    """Every visible text of a drawing, in the order in which it stands there."""
    texts = (html.unescape(re.sub(r"<[^>]+>", " ", found)).strip() for found in _TEXT.findall(svg))
    return [text for text in texts if text]


def _convergence(alt: Any, rows: Rows) -> Any:
    base = alt.Chart(alt.NamedData(name=_DATA))
    x = alt.X("number:Q", title="trial", axis=alt.Axis(format="d", tickMinStep=1),
              scale=alt.Scale(zero=False, nice=False, padding=8))  # fmt: skip
    wide = _wide([row["us"] for row in rows if "us" in row])
    scale = alt.Scale(type="log" if wide else "linear", nice=False, padding=8, zero=False)
    title = "latency, µs (log)" if wide else "latency, µs"
    y = alt.Y("us:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6, format=",~f"))
    colour = alt.Color("state:N", scale=alt.Scale(domain=_STATES, range=_STATE_COLOURS), title="trial")
    shape = alt.Shape(
        "state:N", scale=alt.Scale(domain=_STATES, range=["circle", "cross", "triangle-up"]), title="trial"
    )
    dots = (
        base.transform_filter("isValid(datum.us)")
        .mark_point(filled=True, size=32, opacity=0.75)
        .encode(x=x, y=y, color=colour, shape=shape)
    )
    strokes = alt.Scale(domain=_LINES, range=_LINE_COLOURS)
    dashes = alt.Scale(domain=_LINES, range=_LINE_DASHES)
    lined = {
        "stroke": alt.Stroke("which:N", scale=strokes, title="line"),
        "strokeDash": alt.StrokeDash("which:N", scale=dashes, title="line"),
    }
    best = (
        base.transform_filter("isValid(datum.best)")
        .transform_calculate(which="'best so far'")
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(x="number:Q", y="best:Q", **lined)
    )
    rules = (
        base.transform_filter("isValid(datum.line)")
        .transform_calculate(which="datum.state")
        .mark_rule(strokeWidth=1.4)
        .encode(y="line:Q", **lined)
    )
    return alt.layer(best, rules, dots).properties(width=_WIDTH, height=_HEIGHT)


def _roofline(alt: Any, rows: Rows) -> Any:
    base = alt.Chart(alt.NamedData(name=_DATA))
    log = alt.Scale(type="log", nice=False, padding=10)
    x = alt.X("intensity:Q", title="arithmetic intensity, flop a byte (log)", scale=log,
              axis=alt.Axis(format=",~f", tickCount=6))  # fmt: skip
    y = alt.Y("gflops:Q", title="Gflop/s (log)", scale=log, axis=alt.Axis(format="~s", tickCount=6))
    roof = base.transform_filter("datum.kind == 'ceiling'").mark_line(color="#111111", strokeWidth=1.8).encode(x=x, y=y)
    kinds = ["best kernel", "fastest baseline"]
    dots = (
        base.transform_filter("datum.kind != 'ceiling'")
        .mark_point(size=70, strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "square"]), title="point"),
            color=alt.Color("shape:N", title="shape"),
        )
    )
    return alt.layer(roof, dots).properties(width=_WIDTH - 40, height=_HEIGHT)


def _sweep(alt: Any, rows: Rows) -> Any:
    """A small panel a parameter; the y axis is shared so that panels compare."""
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["parameter"], set()).add(row["value"])
    values = {name: sorted(these, key=_natural) for name, these in found.items()}
    widths = {name: max(70, 7 * sum(map(len, these)) + 14 * len(these)) for name, these in values.items()}
    columns = len(values) if sum(min(w, _PANEL) for w in widths.values()) <= _LINE else _PANELS
    panels = [
        _panel(alt, name, these, widths[name], number % columns == 0, number == 0)
        for number, (name, these) in enumerate(values.items())
    ]
    return alt.concat(*panels, columns=columns, spacing=10).resolve_scale(y="shared", color="shared")


def _panel(alt: Any, name: str, values: list[str], width: int, leads: bool, first: bool) -> Any:
    legend = alt.Legend(labelExpr="datum.value ? 'best' : 'other'", title="trial") if first else None
    colour = alt.Scale(domain=[True, False], range=["#1b7837", "#6baed6"])
    turned = width > _PANEL
    return (
        alt.Chart(alt.NamedData(name=_DATA))
        .transform_filter(f"datum.parameter == {json.dumps(name)}")
        .mark_point(filled=True, size=32, opacity=0.75)
        .encode(
            x=alt.X("value:N", sort=values, title=name, axis=alt.Axis(labelAngle=-40 if turned else 0)),
            y=alt.Y("ratio:Q", title="ratio over the baseline" if leads else None,
                    scale=alt.Scale(zero=False, padding=6), axis=alt.Axis(tickCount=5, labels=leads)),
            color=alt.Color("best:N", scale=colour, legend=legend),
        )
        .properties(width=min(width, _PANEL), height=130)
    )  # fmt: skip


def _samples(alt: Any, rows: Rows) -> Any:
    """The raw pairs of one measurement in their order."""
    sides = list(dict.fromkeys(row["side"] for row in rows))
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=sides, range=["#1b7837", "#111111"]),
        title="side",
        legend=alt.Legend(labelLimit=260, orient="bottom"),
    )
    shape = alt.Shape(
        "side:N",
        scale=alt.Scale(domain=sides, range=["circle", "square"]),
        title="side",
        legend=alt.Legend(labelLimit=260, orient="bottom"),
    )
    x = alt.X("pair:Q", title="pair", axis=alt.Axis(format="d", tickMinStep=1), scale=alt.Scale(nice=False, padding=8))
    y = alt.Y("us:Q", title="latency, µs", scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=6))
    chart = alt.Chart(alt.NamedData(name=_DATA)).mark_point(filled=True, size=24, opacity=0.75)
    return chart.encode(x=x, y=y, color=colour, shape=shape).properties(width=_WIDTH, height=_HEIGHT)


def _fast_p(alt: Any, rows: Rows) -> Any:
    """The share of tasks that are faster than p times the strongest baseline, by the lower ends of their intervals."""
    x = alt.X("p:Q", title="p: times as fast as the strongest baseline", scale=alt.Scale(zero=True, nice=False))
    y = alt.Y("share:Q", title="fast_p, share of tasks", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%"))
    chart = alt.Chart(alt.NamedData(name=_DATA)).mark_line(interpolate="step-before", strokeWidth=1.8, color="#1b7837")
    return chart.encode(x=x, y=y).properties(width=_WIDTH, height=_HEIGHT)


def _learning(alt: Any, rows: Rows) -> Any:
    """Mean reward of parts of trainings, by the samples that were judged."""
    x = alt.X("samples:Q", title="samples judged", axis=alt.Axis(format="d", tickMinStep=1))
    y = alt.Y("reward:Q", title="mean reward", axis=alt.Axis(tickCount=6))
    colour = alt.Color("stage:N", title="stage", legend=alt.Legend(labelLimit=260, orient="bottom"))
    chart = alt.Chart(alt.NamedData(name=_DATA)).mark_line(point=True, strokeWidth=1.8)
    return chart.encode(x=x, y=y, color=colour).properties(width=_WIDTH, height=_HEIGHT)


_CHARTS: dict[str, Callable[[Any, Rows], Any]] = {
    "convergence": _convergence, "roofline": _roofline, "sweep": _sweep, "samples": _samples, "fast_p": _fast_p,
    "learning": _learning,
}  # fmt: skip


def _natural(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), "")
    except ValueError:
        return (1, 0.0, text)


def _wide(values: list[float]) -> bool:
    return max(values) > 6 * min(values)


def _themed(chart: Any) -> altair.TopLevelMixin:
    words = {
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    themed: altair.TopLevelMixin = (
        chart.configure(font=FONT, background="white")
        .configure_axis(gridColor="#e6e6e6", domainColor="#666666", tickColor="#666666", **words)
        .configure_legend(symbolStrokeWidth=1.8, **words)
        .configure_view(stroke="#cccccc")
    )
    return themed
