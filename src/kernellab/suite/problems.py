"""Problems as plain data, for the worker that looks at them, and as a digest, for the record."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.core.ids import digest
from kernellab.graph.source import Request
from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite


def plain(problem: Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "suite": problem.suite,
        "request": asdict(problem.request),
        "on_accelerator": asdict(problem.on_accelerator) if problem.on_accelerator else None,
        "broken": [problem.broken.what, problem.broken.fix] if problem.broken else None,
        "has_backward": problem.has_backward,
    }


def problem_of(data: dict[str, Any]) -> Problem:
    other, broken = data["on_accelerator"], data["broken"]
    return Problem(
        Request(**data["request"]), data["name"], data["suite"],
        TaskRefused(broken[0], broken[1], "broken") if broken else None, Request(**other) if other else None,
        data["has_backward"],
    )  # fmt: skip


def folders_of(suite: Suite) -> list[str]:
    """What the capture sandbox may read."""
    return [suite.path] if suite.path else sorted({os.path.dirname(p.request.file) for p in suite.problems})


def digest_of(problem: Problem) -> str:
    """Changes when the problem's own file or settings do, wherever they lie."""
    try:
        with open(problem.request.file, "rb") as file:
            text = file.read().hex()
    except OSError:
        text = ""
    request = asdict(problem.request)
    facts = [text, request["text"], request["name"], request["init"], request["inputs"]]
    return digest([*facts, "backward"] if problem.request.backward else facts)
