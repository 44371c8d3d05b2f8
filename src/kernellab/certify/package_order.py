"""What a package is written from: its form, and checked certificates of one task with their kernels' texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kernellab.build.base import Candidate
from kernellab.certify.certificate import Certificate
from kernellab.tasks.modules.record import ModuleRecord
from kernellab.tasks.spec import Task

Form = Literal["module", "torch-op", "c", "kernelbench"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class Variant:
    """One certificate with its kernel's text; `number` tells the package's files apart."""

    number: int
    certificate: Certificate
    candidate: Candidate


@dataclass(frozen=True)
class Order:
    """What is to be written: checked certificates of one task, nearest shapes told apart."""

    task: Task
    variants: tuple[Variant, ...]
    reviewed: bool
    module: ModuleRecord | None = None
    """What the task was made from, where that is a PyTorch module."""

    @property
    def backend(self) -> str:
        return self.variants[0].certificate.kernel.backend
