"""What is said of a suite as rows of words: for the screen, for CSV, for Markdown and for a page."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence

from kernellab.suite.checked import CheckedProblem
from kernellab.suite.compare import Comparison
from kernellab.suite.pairs import PairScore
from kernellab.suite.rows import AT_CEILING, TaskScore
from kernellab.suite.score import Score, SuiteScore

Rows = list[list[str]]
CHECK_HEAD = ["problem", "class", "operators", "timed at", "evidence"]
TASK_HEAD = ["task", "operators", "outcome", "speed-up [95 %]", "over", "over eager", "of ceiling", "remark"]
SCORE_HEAD = ["", "tasks", "verified", "> eager", "fast_1", "fast_1.5", "fast_2", "at ceiling", "geomean [95 %]"]
BRIEF_HEAD = ["task", "outcome", "speed-up [95 %]", "over"]
COMPARED_HEAD = ["task", "first", "second", "change", ""]
_CSS = "body{font:15px/1.5 sans-serif;max-width:76em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}" \
    "td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left}"  # fmt: skip


def check_rows(checked: Sequence[CheckedProblem]) -> Rows:
    return [
        [c.name, c.is_a, c.operators, c.timed + (" (reduced)" if c.reduced else ""),
         "; ".join(filter(None, [c.evidence, *c.remarks]))]
        for c in checked
    ]  # fmt: skip


def task_rows(score: SuiteScore) -> Rows:
    """Tasks, then pairs: those have the outcome "pair"."""
    tasks = [
        [r.task, r.operators, r.outcome, ratio(r), r.baseline, _times(r.over_eager), _share(r.of_ceiling), _remark(r)]
        for r in score.rows
    ]  # fmt: skip
    return tasks + [_pair(p) for p in score.pairs]


def _pair(p: PairScore) -> list[str]:
    figures = [_interval(p, "" if p.won else " (no win)"), p.baseline, _times(p.over_eager), _share(p.of_ceiling)]
    return [f"{p.task} + backward", p.operators, "pair", *figures, p.reason and f"not scored: {p.reason}"]


def brief_rows(score: SuiteScore) -> Rows:
    """A task a line; of one without a run, the reason."""
    return [[r.task, r.outcome, ratio(r) or (r.reason if not r.ran else ""), r.baseline] for r in score.rows]


def score_rows(score: SuiteScore) -> Rows:
    return [_score(s) for s in (score.whole, *score.groups, *filter(None, [score.paired]))]


def compared_rows(comparison: Comparison) -> Rows:
    return [
        [
            r.task,
            *(ratio(side) or side.outcome if side else "-" for side in (r.first, r.second)),
            _times(r.change),
            r.says,
        ]
        for r in comparison.rows
    ]


def ratio(row: TaskScore) -> str:
    return _interval(row, "" if row.won else " (busy)" if row.outcome == "busy" else " (no win)")


def _interval(row: TaskScore | PairScore, mark: str) -> str:
    if row.speedup is None:
        return ""
    return f"{row.speedup:.3f}x [{row.speedup_low:.3f}, {row.speedup_high:.3f}]{mark}"


def summary(score: SuiteScore) -> list[str]:
    """What a reader has to know beside the figures."""
    counts: dict[str, int] = {}
    for row in score.rows:
        counts[row.outcome] = counts.get(row.outcome, 0) + 1
    told = ", ".join(f"{n} {name}" for name, n in counts.items())
    lines = [
        f"{len(score.rows)} tasks: {told}",
        "fast_1, fast_1.5, fast_2: the lower end of the interval over the strongest baseline is above 1, 1.5, 2",
        "geomean: over the tasks that ran; no win counts as 1.0; the interval is a bootstrap over tasks",
        f"at ceiling: kernel or strongest baseline reaches {AT_CEILING:.0%} of the time that its bytes take to copy",
    ]
    if score.drawn:
        lines.insert(0, f"a sample: {score.drawn}")
    if score.pairs:
        lines.append(
            "pair: forward and backward one after the other, against the strongest baseline of each; without a win the "
            "baseline stands in; the interval is that of both ends together"
        )
    if score.left:
        lines.append(f"{score.left} tasks are left: 'klab resume', with its folder, goes on with them")
    if any(r.reduced for r in score.rows):
        lines.append(
            "(reduced): the problem was run at smaller sizes than its own, which are too large for this device"
        )
    for name in ("refused", "left-out", "failed"):
        lines += [f"{name}: {r.task}: {r.reason}" for r in score.rows if r.outcome == name]
    return lines


def as_csv(head: Sequence[str], rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name or "name" for name in head])
    writer.writerows(rows)
    return text.getvalue()


def page(title: str, score: SuiteScore, comparison: Comparison | None = None) -> str:
    """One file without scripts or links to elsewhere."""
    facts = f"{score.suite} on {score.device}; {score.figures} figures derived again; ledger root {score.root}"
    parts = [f"<h1>{_text(title)}</h1><p>{_text(facts)}</p>", _table(SCORE_HEAD, score_rows(score))]
    parts += [f"<p>{_text(line)}</p>" for line in summary(score)]
    parts.append(_table(TASK_HEAD, task_rows(score)))
    if comparison is not None:
        parts.append(f"<h2>Compared with {_text(str(comparison.second.folder))}</h2>")
        parts += [f"<p>{_text(line)}</p>" for line in comparison.remarks]
        parts.append(_table(COMPARED_HEAD, compared_rows(comparison)))
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><title>{_text(title)}</title><style>{_CSS}</style>'
    return f'<!doctype html><html lang="en">{head}\n{body}\n</html>\n'


def as_markdown(title: str, score: SuiteScore) -> str:
    """A section of a document."""
    facts = f"`{score.suite}` on {score.device}; {score.figures} figures derived again; ledger root `{score.root}`."
    tables = (_lines(SCORE_HEAD, score_rows(score)), _lines(TASK_HEAD, task_rows(score)))
    told = [f"- {_cell(line)}" for line in summary(score)]
    return "\n".join([f"## {title}", "", facts, "", *tables[0], "", *told, "", *tables[1], ""])


def _lines(head: Sequence[str], rows: Rows) -> list[str]:
    cells = [list(head), ["---"] * len(head), *rows]
    return [f"| {' | '.join(_cell(c) for c in row)} |" for row in cells]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def _score(s: Score) -> list[str]:
    mean = f"{s.geomean.value:.3f} [{s.geomean.low:.3f}, {s.geomean.high:.3f}]"
    counts = [s.tasks, s.verified, s.over_eager, *s.fast.values(), s.at_ceiling]
    return [s.name, *map(str, counts), mean]


def _remark(row: TaskScore) -> str:
    told = [row.is_a if row.is_a not in ("ok", "") else "", "reduced" if row.reduced else ""]
    return ", ".join(filter(None, told))


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}x"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value * 100:.0f} %"


def _table(head: Sequence[str], rows: Rows) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_text(c)}</{tag}>" for c in cells) + "</tr>"

    return "<table>" + line(head, "th") + "\n".join(line(row, "td") for row in rows) + "</table>"


def _text(text: str) -> str:
    return html.escape(text)
