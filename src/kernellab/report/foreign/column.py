"""What a column holds, by its heading and unit, and what its cells then say. What is not said is not guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kernellab.report.printed import Span, span_of

Role = Literal[
    "latency", "base-latency", "rate", "speedup", "slowdown", "rate-ratio", "peak", "share", "shape", "dtype", "bytes",
    "count", "mean", "median", "rank", "name", "figure", "beside", "flops",
]  # fmt: skip
_SECONDS = {"ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "µs": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0,
            "nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}  # fmt: skip
_RATES = {"mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12, "mib/s": 2.0**20, "gib/s": 2.0**30, "tib/s": 2.0**40, "gbps": 1e9,
          "gbit/s": 0.125e9}  # fmt: skip
_BYTES = {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_FLOPS = {f"{prefix}{word}": scale for prefix, scale in (("m", 1e6), ("g", 1e9), ("t", 1e12), ("p", 1e15))
          for word in ("flop/s", "flops", "flops/s", "flop", "ops", "op/s", "ops/s")}  # fmt: skip
_SCALES = {"latency": _SECONDS, "base-latency": _SECONDS, "rate": _RATES, "peak": _RATES, "bytes": _BYTES,
           "flops": _FLOPS}  # fmt: skip
_RATIOS: tuple[Role, ...] = ("speedup", "slowdown", "rate-ratio")
_ABOVE_ZERO: tuple[Role, ...] = ("latency", "base-latency", "rate", "flops", *_RATIOS, "peak", "bytes")
NUMBERS: tuple[Role, ...] = (*_ABOVE_ZERO, "share", "mean", "median", "rank")
BASELINE = re.compile(
    r"baseline|reference|\bref\b|\beager\b|\bbefore\b|torch|numpy|cudnn|cublas|\bnaive\b", re.IGNORECASE
)
"""What comparisons are made with, by its name; \"torch.compile\" too."""
_VERSUS = re.compile(r"(?:\bvs\.?|\bversus|\bover|\brelative to|\bcompared (?:to|with)|\bthan)(?:\s|$)\s*(.*)")
_ENDLESS = re.compile(r"(?i)^[-+−]?(?:inf(?:inity)?|∞)(?![a-z])")
_VAGUE = re.compile(r"[<>≤≥~≈]|\d[kKMGT](?![A-Za-z])|\bn/?a\b|\d\s*(?:/|→|->|\|)\s*[\d.]", re.IGNORECASE)
_BETWEEN = re.compile(r"(?<=\d)\s*(?:–|—|\.\.+|\bto\b|(?<![eE])-)\s*(?=\d)")
_GIVE_OR_TAKE = re.compile(r"(?:±|\+/-|\+-|\\pm)\s*")
_INTERVAL = re.compile(r"\[\s*([\d.]+)\s*(?:,|;|–|-|to)\s*([\d.]+)\s*\]")
_NOT_SPEED = re.compile(
    r"err(?:or)?\b|diff|delta|Δ|accura|loss\b|overhead|memory|sav(?:ed|ing)|reduc|change|improve|l_inf|\bulp|toleran|"
    r"\bstd|stdev|deviation|variance|±|\bci\b|confidence|power|energy|watt|joule|cost|size"
)
_PRECISION = re.compile(
    r"err(?:or)?s?\b|l_inf|\bulps?\b|accura|toleran|\bstd|stdev|deviation|variance|±|\bci\b|confidence"
)
"""Of figures that say how exact something is, not how fast."""
_BUILDING = re.compile(r"compil\w*[\s-]*time|compilation|build|tuning|setup|autotun")


@dataclass(frozen=True)
class Column:
    """`scale` brings its figures to base units (seconds, bytes a second, bytes, one); 0: the heading names no unit.
    `against`: what a ratio is over, as the heading says. `either`: a ratio of times that may be meant either way."""

    heading: str
    role: Role
    scale: float = 1.0
    unit: str = ""
    over: float | None = None
    against: str = ""
    either: bool = False


def column_of(heading: str) -> Column:
    """What a column holds, by its heading: 'Latency (ms)', 'Throughput (GB/s) vs eager', 'Success >1.01×'."""
    low = _folded(heading)
    unit = _unit(low)
    if re.search(r"\bpeak\b|\broof", low):
        return _of_peak(heading, low, unit)
    if (arithmetic := _arithmetic(low)) and not re.search(r"%|peak|\broof|speed-?\s?up|\bvs\b|/w\b|watt", low):
        return Column(heading, "flops", _FLOPS[arithmetic], arithmetic)
    over = re.search(r">\s*=?\s*(\d{1,15}(?:\.\d{1,15})?)", low)
    if over or "correct" in low or "pass" in low or "success" in low:
        return Column(heading, "count", over=float(over[1]) if over else None)
    ratio = re.search(r"speed-?\s?up|slow-?\s?down|\bratio\b|×\s*$|normali[sz]ed|\brelative\b", low) or _VERSUS.search(
        low
    )
    if ratio:
        return _ratio(heading, low, unit)
    if unit in _RATES or "throughput" in low or "bandwidth" in low:
        return Column(heading, "rate", _RATES.get(unit, 0.0), unit)
    if _is_time(low, unit):
        role: Role = "base-latency" if BASELINE.search(low) else "latency"
        return Column(heading, role, _SECONDS.get(unit, 0.0), unit)
    return _other(heading, low, unit)


def _of_peak(heading: str, low: str, unit: str) -> Column:
    """Shares of a bandwidth's peak; those of a library's, of a measured or of an arithmetic peak are other figures."""
    if (
        "roof" in low
        or BASELINE.search(low)
        or re.search(r"flop|mfu|compute|tensor|measured|achievable|memory usage", low)
    ):
        return Column(heading, "figure")
    if "%" in low or "share" in low or "fraction" in low or re.search(r"\bof\b", low):
        return Column(heading, "share", 1.0 if "fraction" in low and "%" not in low else 0.01, "%")
    return Column(heading, "peak", _RATES.get(unit, 0.0), unit)


def _ratio(heading: str, low: str, unit: str) -> Column:
    """Speed-ups, slow-downs and ratios of bandwidths; a mean of ratios is no quotient of anything in its row."""
    versus = _VERSUS.search(low)
    against = versus[1] if versus else ""
    if re.search(r"\bmean\b|average|\bavg\b|geo-?mean|\bgm\b", low):
        return Column(heading, "mean")
    if "median" in low:
        return Column(heading, "median")
    if "speed" in low.replace("speed (", ""):
        return Column(heading, "speedup", against=against)
    if re.search(r"slow-?\s?down", low):
        return Column(heading, "slowdown", against=against)
    if _NOT_SPEED.search(low) or unit in _SECONDS or "%" in low:
        return Column(heading, "beside" if _PRECISION.search(low) else "figure")
    if unit in _RATES or "throughput" in low or "bandwidth" in low:
        return Column(heading, "rate-ratio", against=against)
    return Column(heading, "speedup", against=against, either=not re.match(r"\W*(?:vs|versus)\b", low))


def _other(heading: str, low: str, unit: str) -> Column:
    if re.search(r"\bmean\b|average", low):
        return Column(heading, "mean")
    if "median" in low:
        return Column(heading, "median")
    if re.search(r"\bshape\b|\bsize\b|dims?\b|\belements\b", low):
        return Column(heading, "shape")
    if "dtype" in low or "precision" in low or low.strip() == "type":
        return Column(heading, "dtype")
    if "bytes" in low or "moved" in low:
        return Column(heading, "bytes", _BYTES.get(unit, 1.0), unit)
    if low.strip() in ("rank", "#", "place"):
        return Column(heading, "rank")
    if _PRECISION.search(low):
        return Column(heading, "beside")
    return Column(heading, "figure" if re.search(r"flop|/s\b|%|utili[sz]|efficien|tokens", low) else "name")


def _is_time(low: str, unit: str) -> bool:
    if _BUILDING.search(low) or re.search(
        r"\bstd|stdev|deviation|variance|±|\bci\b|overhead|diff|delta|\bsaved\b", low
    ):
        return False
    named = re.search(r"latency|\btime\b|runtime|duration|elapsed", low)
    return bool(named) or (unit in _SECONDS and unit != "s") or bool(re.search(r"[(\[]s(?:ec)?[)\]]", low))


def quantity(cell: str, column: Column) -> Span | None:
    """A cell in base units, a range from end to end, ± included; a unit in the cell overrules the heading's. None: cannot
    be read."""
    if (
        column.role in _RATIOS
        and (times := re.search(r"(\d[\d.,]*)\s*[x×](?!\s*\d)", cell))
        and not _VAGUE.search(cell)
    ):
        return _extended(span_of(times[1]), cell)
    if _VAGUE.search(cell) or (column.role in _RATIOS and "%" in cell):
        return None
    span = _extended(_from_to(cell), cell)
    own = _unit(_folded(cell))
    scale = _SCALES.get(column.role, {}).get(own, column.scale)
    if span is not None and column.role == "share" and "%" in cell:
        scale = 0.01
    if span is not None and column.role == "bytes" and (own or column.unit) in ("kb", "mb", "gb"):
        return Span(span.low * scale, span.high * _BYTES[(own or column.unit)[0] + "ib"], span.middle * scale)
    return span.scaled(scale) if span is not None and scale else None


def _from_to(cell: str) -> Span | None:
    ends = [span_of(part) for part in _BETWEEN.split(_INTERVAL.sub("", _GIVE_OR_TAKE.split(cell)[0]), maxsplit=1)]
    found = [s for s in ends if s is not None]
    if not found or len(found) < len(ends):
        return None
    return found[0] if len(found) == 1 else Span(min(s.low for s in found), max(s.high for s in found))


def _extended(span: Span | None, cell: str) -> Span | None:
    """With what is printed beside it: 2.00 ± 0.30, 2.00 [1.90, 2.10]."""
    if span is None:
        return None
    parts = _GIVE_OR_TAKE.split(cell, maxsplit=1)
    spread = span_of(parts[1]) if len(parts) > 1 else None
    if spread is not None:
        wide = spread.middle * (0.01 * abs(span.middle) if "%" in parts[1] else 1.0)
        return Span(span.low - wide, span.high + wide, span.middle)
    if ends := _INTERVAL.search(cell):
        low, high = span_of(ends[1]), span_of(ends[2])
        if low and high:
            return Span(min(low.low, span.low), max(high.high, span.high), span.middle)
    return span


def impossible(cell: str, column: Column) -> str:
    """Why no measurement can have given this cell, or ''."""
    if column.role not in NUMBERS:
        return ""
    if _ENDLESS.match(cell) or (re.match(r"[-+−]?\d[\d.]*[eE]\+?\d{3,}", cell) and span_of(cell) is None):
        return "is not finite"
    span = quantity(cell, Column(column.heading, column.role, column.scale or 1.0))
    if span is None:
        return ""
    if column.role in _ABOVE_ZERO and span.middle <= 0:
        return "must be above zero"
    if column.role == "share" and span.high < 0:
        return "must not be negative"
    return "is more than the whole" if column.role == "share" and span.low > 1 else ""


def in_order(heading: str) -> bool:
    """Whether a heading is of a kind that only its neighbours can contradict: fast_1, p99."""
    return bool(re.match(r"\W*fast[\s_@]*[({p=]*\s*\d|p\d\d\b", heading.lower()))


def is_figure(cell: str) -> bool:
    """Whether a cell of a column that is not understood claims a figure, rather than a name or a setting."""
    return (
        re.search(r"^\W*\d+\.\d|^\W*\d[\d.,]*\s*(?:%|[x×](?!\s*\d)|[a-zµ]*/s\b)|^\W*\d[\d.]*e-\d", cell.lower())
        is not None
    )


def _folded(text: str) -> str:
    return re.sub(r"\b([GMT])b(?:/s|ps)\b", lambda m: f"{m[1]}bit/s", text).lower().replace("μ", "µ")


def _arithmetic(low: str) -> str:
    """The unit of a column of operations a second: tflop/s, gflops."""
    return next((w for w in re.findall(r"[a-z]+(?:/s)?", low) if w in _FLOPS), "")


def _unit(low: str) -> str:
    if arithmetic := _arithmetic(low):
        return arithmetic
    for unit in re.findall(r"[a-zµ]+/s|gbps|[a-zµ]+", low):
        if unit in _RATES or unit in _SECONDS or unit in ("mib", "gib", "kib", "mb", "gb", "kb", "bytes"):
            return str(unit)
    return ""
