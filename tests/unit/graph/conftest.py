"""Every module of modules.py captured once a session."""

from __future__ import annotations

from functools import cache

import pytest

torch = pytest.importorskip("torch")

from tests.unit.graph.modules import CASES  # noqa: E402

from kernellab.graph.capture_job import warm  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402


@cache
def record_of(name: str) -> GraphRecord:
    warm()
    case = CASES[name]
    return capture_object(case.subject, case.inputs, name)
