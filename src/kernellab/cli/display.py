"""What a person sees while a run goes on: a live screen on a terminal, plain lines elsewhere, nothing for --json.

Both say what is waited for and about how long it will still take; --events says it to programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from kernellab.core.events import Event
from kernellab.core.outlook import Outlook, duration
from kernellab.core.pairs import pairs_kept
from kernellab.core.records import AnyTrial, Confirmation, DuplicateTrial, MeasuredTrial, Rejected, RejectedTrial
from kernellab.core.time_words import time_words
from kernellab.ledger.records import AnyResult, Published
from kernellab.report.run_words import speedup
from kernellab.tasks.extents import extents

_SHOWN = 10
_TOLD_S = 30.0
"""A log says so often how far the run is."""
_LONG_S = 3.0
"""What is waited for so long is told with its seconds."""
begun: list[str] = []
"""The folders of the runs that this process has started to show: the last is what an interrupt leaves to be resumed."""


class Display(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __call__(self, event: Event) -> None: ...


def make_display(console: Console, quiet: bool) -> Display:
    if quiet:
        return Silent()
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


class Silent:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, event: Event) -> None:
        _note_start(event)


class PlainDisplay(Silent):
    """One line an event: for logs, pipes and CI. Every half minute one says how far it is."""

    def __init__(self, console: Console, outlook: Outlook | None = None) -> None:
        self._console = console
        self._outlook = outlook or Outlook()
        self._told = 0.0

    def __call__(self, event: Event) -> None:
        _note_start(event)
        self._outlook.hear(event)
        self._line(sentence(event))
        if event.kind == "trial" and self._outlook.elapsed_s - self._told >= _TOLD_S:
            self._told = self._outlook.elapsed_s
            self._line(self._outlook.words)

    def _line(self, text: str) -> None:
        if text:
            self._console.print(
                f"[{self._outlook.elapsed_s:6.1f}s] {text}", highlight=False, markup=False, soft_wrap=True
            )


class LiveDisplay:
    """Progress bar, time left, what is waited for, best so far, the last trials; the finished shapes stay on the screen."""

    def __init__(self, console: Console, outlook: Outlook | None = None) -> None:
        self._console = console
        self._outlook = outlook or Outlook()
        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1)), BarColumn(bar_width=20),
            MofNCompleteColumn(), TimeElapsedColumn(), console=console, get_time=self._outlook.clock,
        )  # fmt: skip
        self._bar = self._progress.add_task("starting", total=None)
        self._lines: list[Text] = []
        self._best: MeasuredTrial | None = None
        self._counts = {"measured": 0, "rejected": 0, "failed": 0, "duplicate": 0, "busy": 0}
        self._ended = False
        self._live = Live(console=console, refresh_per_second=4, transient=True, get_renderable=self._screen)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._live.__exit__(kind, err, trace)

    def __call__(self, event: Event) -> None:
        _note_start(event)
        self._outlook.hear(event)
        handler: Callable[[Event], None] | None = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event)
        self._live.refresh()

    def _on_start(self, event: Event) -> None:
        data = event.data
        where = f" on {data['device']}, sandbox {data['tier']}, record in {data['folder']}"
        self._console.print(Text.assemble((data["task"], "bold"), where), soft_wrap=True)

    def _on_stage(self, event: Event) -> None:
        self._clear(event.text, event.data["trials"])

    def _clear(self, description: str, trials: int | None) -> None:
        """Nothing stays of the shape or the task before."""
        self._lines, self._best = [], None
        self._counts = dict.fromkeys(self._counts, 0)
        self._progress.reset(self._bar, total=trials, description=description)

    def _on_science(self, event: Event) -> None:
        self._console.print(Text(event.text, style="dim"), soft_wrap=True)

    def _on_note(self, event: Event) -> None:
        """A task of a suite that is done stays on the screen."""
        if "suite_task" in event.data:
            self._console.print(Text(event.text), soft_wrap=True)
            self._clear("starting", None)

    def _on_trial(self, event: Event) -> None:
        trial: AnyTrial = event.data["trial"]
        self._progress.advance(self._bar)
        key = trial.status if trial.status in self._counts else "failed"
        self._counts[key] += 1
        if isinstance(trial, MeasuredTrial) and (
            self._best is None or trial.timing.speedup > self._best.timing.speedup
        ):
            self._best = trial
        self._lines = [*self._lines, trial_line(trial)][-_SHOWN:]

    def _on_confirmation(self, event: Event) -> None:
        self._lines = [*self._lines, Text(sentence(event))][-_SHOWN:]

    def _on_result(self, event: Event) -> None:
        self._console.print(Text(("✔ " if event.data["status"] == "better" else "· ") + event.text))

    def _screen(self) -> Group:
        if self._ended:
            return Group()
        waited = self._outlook.doing_s
        doing = self._outlook.doing + (f" ({duration(waited)})" if waited >= _LONG_S else "")
        best = Text("best so far: none")
        if self._best is not None:
            best = Text(
                f"best so far: {self._best.timing.speedup:.2f}x of {self._best.timing.baseline}, {self._best.proposal.name} "
                f"{_params(self._best.proposal.params)}",
                style="bold green",
            )
        counts = ", ".join(f"{n} {k}" for k, n in self._counts.items())
        lines = [Text(self._outlook.words), Text(doing, style="dim"), *self._lines, Text(counts, style="dim"), best]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(self._progress, *lines)


def trial_line(trial: AnyTrial, confirmation: Confirmation | None = None) -> Text:
    """A trial in one line, with what came of its confirmation, if it had one."""
    head = f"#{trial.trial:<4}{trial.proposal.name:24.24} "
    if isinstance(trial, MeasuredTrial):
        t = trial.timing
        tail = " raced" if t.stopped == "raced" else ""
        if t.disturbed:
            tail += f" disturbed ({pairs_kept(len(t.candidate_s), len(t.dropped))})"
        figure = (
            f"{t.speedup:6.2f}x [{t.speedup_low:.2f}, {t.speedup_high:.2f}] "
            f"{time_words(t.latency_s, 8)} {t.of_floor * 100:3.0f} % of floor"
        )
        return Text.assemble(
            head,
            (figure, "green" if t.speedup_low > 1 and not t.disturbed else ""),
            (tail, "dim"),
            _mark(confirmation),
            ("  " + _params(trial.proposal.params), "dim"),
        )
    if isinstance(trial, RejectedTrial):
        return Text.assemble(head, (f"rejected: {trial.verdict.cause}: ", "red"), trial.verdict.reason)
    if isinstance(trial, DuplicateTrial):
        return Text.assemble(head, (f"same machine code as #{trial.of}", "dim"))
    return Text.assemble(head, (f"{trial.status}: ", "yellow"), trial.reason)


def _mark(confirmation: Confirmation | None) -> tuple[str, str]:
    if confirmation is None:
        return "", ""
    if isinstance(confirmation.verdict, Rejected):
        return f" refuted: {confirmation.verdict.cause}", "red"
    t = confirmation.timing
    pairs = f" ({pairs_kept(len(t.candidate_s), len(t.dropped))})" if t is not None else ""
    if confirmation.win:
        return f" confirmed{pairs}", "bold green"
    if t is None or t.disturbed:
        return f" right, and the machine too busy to confirm its speed{pairs}", "yellow"
    return f" confirmed, no win{pairs}", "green"


def sentence(event: Event) -> str:
    """An event in words; '' for what is no news in itself."""
    if event.kind == "trial":
        return trial_line(event.data["trial"]).plain
    if event.kind == "confirmation":
        return confirmation_line(event.data["confirmation"], event.data["why"])
    return {"baseline": f"baseline {event.text}", "stage": f"shape {event.text}", "end": "", "doing": ""}.get(
        event.kind, event.text
    )


def _note_start(event: Event) -> None:
    if event.kind == "start":
        begun.append(str(event.data["folder"]))


def confirmation_line(confirmation: Confirmation, why_not: str = "") -> str:
    """What a confirmation came to, with the pairs behind it and those that were dropped. `why_not`: what keeps
    it from being a win, where that is known."""
    verdict, t = confirmation.verdict, confirmation.timing
    if isinstance(verdict, Rejected) or t is None:
        why = f"rejected: {verdict.cause}: {verdict.reason}" if isinstance(verdict, Rejected) else confirmation.busy
        return f"confirmation of #{confirmation.trial}: {why}"
    word = "holds" if confirmation.win else "was disturbed" if t.disturbed else "is no win"
    why = f" ({why_not})" if why_not and not confirmation.win else ""
    return (
        f"confirmation of #{confirmation.trial} {word}: {t.speedup:.3f}x of {t.baseline} "
        f"[{t.speedup_low:.3f}, {t.speedup_high:.3f}]{why}, "
        f"{pairs_kept(len(t.candidate_s), len(t.dropped))}, {verdict.cases} cases, {t.of_floor * 100:.0f} % of the floor"
    )


def pairs_of(confirmation: Confirmation) -> dict[str, int]:
    """The pairs behind a confirmation's figures, and those that were dropped, as --json carries them."""
    t = confirmation.timing
    return {"pairs": len(t.candidate_s), "dropped": len(t.dropped)} if t is not None else {}


def _params(params: dict[str, Any]) -> str:
    return " ".join(f"{k}={v}" for k, v in params.items())


def results_table(results: Sequence[AnyResult], wide: bool = False, numbered: bool = False) -> Table:
    """The figures of a run: no ratio without its interval, baseline, dtype, threads and share of the floor. `numbered`:
    with the confirmed trial that each row is about, which a wide table has anyway."""
    table = Table(show_edge=False, pad_edge=False)
    names = ["shape", "speed-up [95 %]", "over", "latency", "of floor", *(["trial"] if wide or numbered else [])]
    for name in [*names, "GB/s", "max ULP", "max error"] if wide else names:
        left = name in ("shape", "over")
        table.add_column(
            name, justify="left" if left else "right", no_wrap=name != "over", overflow="fold"
        )  # none is cut
    for result in results:
        dims = extents(result.task, result.dims)
        if not isinstance(result, Published):
            table.add_row(dims, result.status)
            continue
        mark = {"better": "", "busy": " (busy)"}.get(result.status, " (no win)")
        threads = f", {result.threads} thr" if result.threads else ""
        row: list[str | Text] = [
            dims,
            f"{speedup(result)}{mark}",
            Text(f"{result.baseline}, {result.dtype.replace('float', 'f')}{threads}"),
            time_words(result.latency_s),
            f"{result.of_floor * 100:.0f} %",
        ]
        row += [f"#{result.trial}"] if wide or numbered else []
        more = [f"{result.gb_per_s:.2f}", f"{result.max_ulp:.1f}", f"{result.max_abs_err:.2g}"]
        table.add_row(*row, *(more if wide else []))
    return table
