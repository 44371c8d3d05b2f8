"""The module record: everything that a task made from a PyTorch module is. Plain data; a run keeps it as task.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from kernellab.core.errors import TaskRefused
from kernellab.core.ids import canonical_json, digest
from kernellab.core.records import Record
from kernellab.graph.record import GraphRecord

FORMAT = "kernellab-module"
Precision = Literal["ieee", "tf32", "bf16", "f16"]
PRECISIONS: tuple[Precision, ...] = ("ieee", "tf32", "bf16", "f16")


class ShapeGroups(Record):
    """Timed, held-out and edge shapes: values of the graph's free sizes."""

    tune: tuple[dict[str, int], ...]
    held_out: tuple[dict[str, int], ...]
    edge: tuple[dict[str, int], ...]


class Source(Record):
    """The text that was captured and how: what a module is made from where there is no kernel for a call."""

    text: str
    name: str
    init: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    eval_mode: bool = False


class Origin(Record):
    """Where it came from, for people and for exports: no part of what is computed."""

    suite: str = ""
    problem: str = ""
    source: Source | None = None


class ModuleRecord(Record):
    """`shapes` are those of processors, `device_shapes` those of GPUs, which are the example's own. Since the second version
    the bytes that a kernel must read are counted through slices, since the third without what masks leave out: earlier
    ledgers hold the floors that their own had."""

    format: Literal["kernellab-module"] = "kernellab-module"
    version: Literal[1, 2, 3] = 1
    name: str
    graph: GraphRecord
    precision: Precision
    distributions: tuple[str, ...]
    shapes: ShapeGroups
    device_shapes: ShapeGroups
    origin: Origin = Origin()

    @property
    def digest(self) -> str:
        """Covers what is computed, on what inputs, how exactly, and what the baselines call for it; not names, nor where it
        came from."""
        seen = [i.seen.model_dump(exclude_defaults=True) if i.seen else None for i in self.graph.inputs]
        written = [self.graph.written.digest] if self.graph.written else []
        later = [self.version] if self.version > 1 else []
        return digest([self.graph.digest, self.precision, list(self.distributions), seen, *written, *later])

    def text(self) -> bytes:
        return canonical_json(self.model_dump(mode="json")) + b"\n"


def is_record(locator: str) -> bool:
    """Whether a locator is the path of one of these."""
    if not locator.endswith(".json"):
        return False
    try:
        value = json.loads(Path(locator).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("format") == FORMAT


def read_module_record(path: str) -> ModuleRecord:
    try:
        return ModuleRecord.model_validate_json(Path(path).read_bytes())
    except (OSError, ValidationError, ValueError, RecursionError) as err:
        first = str(err).splitlines()[0]
        raise TaskRefused(f"{path} is no record of a module: {first}", "import the module again") from None
