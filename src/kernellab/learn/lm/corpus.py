"""What a data set (`klab dataset`) teaches: right replies to its prompts, each once, of the training part alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from kernellab.core.errors import UsageError
from kernellab.core.files import reason

_FIX = "give a file that klab dataset wrote"


@dataclass(frozen=True)
class Lesson:
    prompt: list[dict[str, str]]
    reply: str
    task: str
    shape: str


def lessons(path: Path) -> list[Lesson]:
    """Failures are in the file, and teach nothing here; what is in the test part is never shown to a model."""
    found: dict[tuple[str, str, str], Lesson] = {}
    for row in _rows(path):
        if row.split == "train" and row.accuracy == 1:
            lesson = Lesson([message.model_dump() for message in row.prompt], row.reply, row.task, row.shape)
            found[lesson.task, lesson.shape, lesson.reply] = lesson
    if not found:
        raise UsageError(f"{path} has no right reply in its training part", "make a data set of more runs")
    return list(found.values())


class _Message(BaseModel):
    role: str
    content: str


class _Row(BaseModel):
    """What is read of a row; there is more in it."""

    prompt: list[_Message]
    reply: str
    task: str
    shape: str
    split: Literal["train", "test"]
    accuracy: int | None


def _rows(path: Path) -> Iterator[_Row]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {reason(path, err)}", _FIX) from None
    for number, line in enumerate(lines, 1):
        try:
            yield _Row.model_validate_json(line)
        except ValidationError as err:
            what = err.errors()[0]
            where = ".".join(map(str, what["loc"])) or "it"
            raise UsageError(f"{path}, line {number} is no row of a data set: {where}: {what['msg']}", _FIX) from None
