"""flashinfer-bench: a definition (JSON with axes, inputs, outputs and PyTorch code) and its workloads (JSONL beside it).

definitions/OP/NAME.json is the first workload, NAME.json:3 the fourth; a definition without workloads is taken at small
sizes. The definition's code runs in the capture process alone. Not covered: integers that a workload keeps in a file of
tensors, and numbers of eight bits or fewer.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.graph.record import FLOATS, INTEGERS
from kernellab.graph.source import Request
from kernellab.tasks.suites.base import Problem, listed

_FREE = 16


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Axis(_Part):
    type: Literal["const", "var", "expr"]
    value: int | None = None


class Tensor(_Part):
    """Without a shape it is a plain number."""

    shape: tuple[str | int, ...] | None = None
    dtype: str


class Definition(_Part):
    name: str
    axes: dict[str, Axis]
    inputs: dict[str, Tensor]
    reference: str


class Given(_Part):
    type: str = "random"
    value: int | float | bool | None = None


class Workload(_Part):
    axes: dict[str, int]
    inputs: dict[str, Given] = {}


class FlashinferBench:
    form = "a flashinfer-bench definition NAME.json, or NAME.json:NUMBER for another of its workloads"

    def recognises(self, locator: str) -> bool:
        return _is_definition(_split(locator)[0])

    def problem(self, locator: str) -> Problem:
        path, number = _split(locator)
        definition = _definition(path)
        found = _workloads(path, definition)
        if not 0 <= number < len(found):
            raise UsageError(f"{path} has the workloads 0 to {len(found) - 1}, not {number}", f"write {path}:0, say")
        text = f"{definition.reference}\n\n{_inputs(definition, found[number], path)}"
        name = f"{definition.name}-{number}" if number else definition.name
        return Problem(Request(os.path.abspath(path), "run", text=text), name, "flashinfer-bench")

    def problems(self, path: str) -> list[Problem]:
        """The first workload of every definition under a folder."""
        files = sorted(Path(path).rglob("*.json")) if os.path.isdir(path) else []
        return [listed(self.problem, str(f)) for f in files if _is_definition(str(f))]


def _split(locator: str) -> tuple[str, int]:
    path, colon, number = locator.rpartition(":")
    return (path, int(number)) if colon and number.isdigit() else (locator, 0)


def _is_definition(path: str) -> bool:
    if not path.endswith(".json") or not os.path.isfile(path):
        return False
    try:
        value = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and {"axes", "inputs", "reference"} <= set(value)


def _definition(path: str) -> Definition:
    try:
        return Definition.model_validate_json(Path(path).read_bytes())
    except ValidationError as err:
        fault = err.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise TaskRefused(f"{path}: {where}: {fault['msg']}", "correct the definition") from None


def _workloads(path: str, definition: Definition) -> list[Workload]:
    """Those of the JSONL file of the same name, which lies beside the definition or under workloads/."""
    own = Path(path).resolve()
    beside = own.with_suffix(".jsonl")
    parts = ["workloads" if part == "definitions" else part for part in own.with_suffix(".jsonl").parts]
    file = next((f for f in (beside, Path(*parts)) if f.is_file()), None)
    if file is None:
        free = {name: _FREE for name, axis in definition.axes.items() if axis.type == "var"}
        return [Workload(axes=free)]
    found = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        try:
            found.append(Workload.model_validate(json.loads(line)["workload"]))
        except (ValueError, KeyError, TypeError, ValidationError):
            raise TaskRefused(f"{file}, line {number}: this is no workload", "correct or drop the line") from None
    if not found:
        raise TaskRefused(f"{file} holds no workload", "add one, or drop the file")
    return found


def _inputs(definition: Definition, workload: Workload, path: str) -> str:
    """get_inputs() for a workload, as text for the capture process."""
    sizes = {n: a.value for n, a in definition.axes.items() if a.type == "const"} | workload.axes
    lines = []
    for name, tensor in definition.inputs.items():
        given = workload.inputs.get(name, Given())
        where = f"{os.path.basename(path)}: the input {name}"
        if tensor.shape is None:
            if given.value is None:
                raise TaskRefused(f"{where} is a plain number without a value", "give it one in the workload")
            lines.append(repr(given.value))
            continue
        lines.append(_tensor(tensor, given, sizes, where))
    return f"def get_inputs():\n    import torch\n    return [{', '.join(lines)}]\n"


def _tensor(tensor: Tensor, given: Given, sizes: dict[str, Any], where: str) -> str:
    shape = [sizes.get(extent, 0) if isinstance(extent, str) else extent for extent in tensor.shape or ()]
    if not all(isinstance(extent, int) and extent > 0 for extent in shape):
        raise TaskRefused(f"{where} has no known shape: {list(tensor.shape or ())}", "give every axis a size")
    if tensor.dtype not in (*FLOATS, *INTEGERS):
        raise TaskRefused(f"{where} is {tensor.dtype}", f"use one of {', '.join((*FLOATS, *INTEGERS))}")
    if tensor.dtype in FLOATS:
        return f"torch.randn({shape}).to(torch.{tensor.dtype})"
    if given.type != "random":
        raise TaskRefused(f"{where} is read from a file ({given.type})", "only random integers can be drawn here")
    return f"torch.randint(0, 2, {shape}).to(torch.{tensor.dtype})"
