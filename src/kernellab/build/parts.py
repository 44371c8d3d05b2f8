"""From parts to an artifact: each shape is built by itself, several side by side; equal compilations are made once.

The order in which jobs happen to end changes nothing: parts come in the order of the shapes, and the first shape in that
order that fails is the one that is told.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kernellab.build.abilities import EDITION
from kernellab.build.base import Built, NotBuilt, Part
from kernellab.core.records import Artifact, artifact_id
from kernellab.tasks.spec import Dims, shape_key

T = TypeVar("T")
TWO_TEXTS = "SOURCE or FLAGS is another at another shape: a candidate has one text for all of them"


@dataclass(frozen=True)
class Made:
    """A part with what its back end knows of it; `flags` and `resources` go into the record."""

    part: Part
    flags: list[str]
    static_bytes: int
    cached: bool
    resources: dict[str, int]
    abilities: tuple[str, ...] = ()


class Once:
    """Work by key: whoever comes first does it, everybody else waits for the answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, Future[Any]] = {}

    def get(self, key: str, work: Callable[[], T]) -> T:
        with self._lock:
            mine = key not in self._answers
            answer: Future[T] = self._answers.setdefault(key, Future())
        if mine:
            try:
                answer.set_result(work())
            except BaseException as err:
                answer.set_exception(err)
                raise
        return answer.result()


def each_shape(work: Callable[[Dims], T | NotBuilt], shapes: Sequence[Dims]) -> list[T] | NotBuilt:
    """The work at every shape, side by side. After a failure no other is begun.

    Shapes are begun in their order, so that whatever comes before the one that failed first was begun, and is waited for:
    which failure is told does not depend on who was faster.
    """
    failed = threading.Event()

    def one(dims: Dims) -> T | NotBuilt | None:
        if failed.is_set():
            return None
        found = work(dims)
        if isinstance(found, NotBuilt):
            failed.set()
            return replace(found, dims=dims)
        return found

    if len(shapes) == 1:
        answers = [one(shapes[0])]
    else:
        with ThreadPoolExecutor(min(len(shapes), os.cpu_count() or 1)) as pool:
            answers = list(pool.map(one, shapes))
    fault = next((a for a in answers if isinstance(a, NotBuilt)), None)
    return fault or [a for a in answers if a is not None and not isinstance(a, NotBuilt)]


def assemble(made: Sequence[Made], started: float, backend: str, compiler: str) -> Built | NotBuilt:
    """The artifact of these parts, the timed shape's first."""
    parts, timed = tuple(m.part for m in made), made[0].part.record
    other = next((part for part in parts if part.text != parts[0].text), None)
    if other is not None:
        return NotBuilt("build-failed", TWO_TEXTS, dims=other.dims)
    records = {shape_key(part.dims): part.record for part in parts}
    artifact = Artifact(
        id=artifact_id({label: record.id for label, record in records.items()}),
        backend=backend,
        code=timed.code,
        plans=timed.plan,
        log=timed.log,
        parts=records,
        text=parts[0].text,
        compiler=compiler,
        flags=made[0].flags,
        static_bytes=max(m.static_bytes for m in made),
        resources=_largest([m.resources for m in made]),
        build_s=time.perf_counter() - started,
        cached=all(m.cached for m in made),
        abilities=sorted({ability for m in made for ability in m.abilities}),
        abilities_edition=EDITION,
    )
    return Built(artifact, parts)


def _largest(resources: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {
        name: max(r[name] for r in resources if name in r) for name in dict.fromkeys(n for r in resources for n in r)
    }
