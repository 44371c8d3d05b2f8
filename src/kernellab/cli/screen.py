"""What every command writes to: plain text, no guesses at numbers and emoji, and nothing that a terminal would obey.

A ledger or a certificate may be anybody's, and its texts are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from kernellab.core.printable import printable


class Screen(Console):
    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            clean = segment.text if segment.control else printable(segment.text)
            yield segment if clean == segment.text else Segment(clean, segment.style)


def counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """On a terminal, a line on standard error says what is waited for, until it is done; elsewhere nothing does."""
    console = Screen(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(doing, total=None)
        yield
