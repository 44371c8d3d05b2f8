"""The suite's modules at small sizes: captured in the sandbox, made here, and given inputs of several distributions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from tests.unit.graph.draws import like

from kernellab.graph.backward import gradients
from kernellab.graph.capture import Capturer
from kernellab.graph.record import GraphRecord
from kernellab.graph.source import Request, Subject, choose, import_file, make
from kernellab.graph.wide import in_float64, widened
from kernellab.tasks.lab import FOLDER, LabTask, Setting

Tensors = list[torch.Tensor]


def request(task: LabTask, sizes: Setting, backward: bool = False) -> Request:
    settings = task.at(sizes)
    return Request(str(task.file), "Model", settings, settings, text=task.file.read_text(), backward=backward)


def made(task: LabTask, sizes: Setting) -> Subject:
    """On torch's default device."""
    asked = request(task, sizes)
    module = import_file(asked.file, asked.text)
    return make(module, choose(module, asked.name), asked)


@dataclass(frozen=True)
class Captured:
    record: GraphRecord
    subject: Subject

    def inputs(self, distribution: str, seed: int) -> Tensors:
        """Floats of both signs drawn anew; what is a mask, a variance or an index stays as the task draws it."""
        generator = torch.Generator().manual_seed(seed)
        return [
            like(x, distribution, generator).to(x.dtype) if distribution != "own" and _any_number(x) else x
            for x in self.subject.inputs
        ]

    def named(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        state = {**dict(self.subject.module.named_parameters()), **dict(self.subject.module.named_buffers())}
        given = iter(inputs)
        return {i.name: next(given) if i.role == "input" else state[i.source].detach() for i in self.record.inputs}

    def honest(self, inputs: Tensors) -> Tensors:
        with torch.no_grad():
            return _listed(self.subject.module(*inputs))

    def wide(self, inputs: Tensors) -> Tensors:
        """Torch's own answer in float64."""
        module = copy.deepcopy(self.subject.module).double()
        with torch.no_grad(), in_float64():
            return _listed(module(*(widened(x) for x in inputs)))


class Backward(Captured):
    """The same for gradients: the inputs end with those that come in."""

    def inputs(self, distribution: str, seed: int) -> Tensors:
        given = super().inputs(distribution, seed)
        floats = [y for y in super().honest(given) if y.is_floating_point()]
        generator = torch.Generator().manual_seed(seed + 100)
        kind = "normal" if distribution == "own" else distribution
        return [*given, *(like(y, kind, generator).to(y.dtype) for y in floats)]

    def honest(self, inputs: Tensors) -> Tensors:
        split = len(self.subject.inputs)
        return list(gradients(self.subject)(inputs[:split], inputs[split:]))

    def wide(self, inputs: Tensors) -> Tensors:
        split, twin = len(self.subject.inputs), Subject(copy.deepcopy(self.subject.module).double(), ())
        wide = [widened(x) for x in inputs]
        return list(gradients(twin, wide=True)(wide[:split], wide[split:]))


def _any_number(x: torch.Tensor) -> bool:
    return x.is_floating_point() and bool(x.isfinite().all()) and bool((x < 0).any()) and bool((x > 0).any())


def _listed(result: Any) -> Tensors:
    return list(result) if isinstance(result, tuple | list) else [result]


@contextmanager
def capturer() -> Iterator[Capturer]:
    with Capturer([str(FOLDER)]) as opened:
        yield opened


def captured(opened: Capturer, task: LabTask, backward: bool = False) -> Captured:
    record = opened.capture(request(task, task.small, backward))
    return (Backward if backward else Captured)(record, made(task, task.small))
