"""Whole runs with a scripted model, small enough for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import TASK_FILE

from kernellab import api
from kernellab.ledger.journal import read_entries
from kernellab.ledger.store import Store
from kernellab.search.outcome import Outcome

ONE_SHAPE = TASK_FILE.replace('tune=({"N": 65536}, {"N": 32768})', 'tune=({"N": 32768},)').replace("-O3", "-O1")
"""Its kernel stays far from the floor: ceilings that were measured on a busy machine make a fast one look too good."""
HELD_OUT = "5003"


def without_candidate(text: str = ONE_SHAPE) -> str:
    return text[: text.index("SPACE = ")]


def run(folder: Path, url: str, text: str = ONE_SHAPE, trials: int = 12, **science: Any) -> Outcome:
    folder.mkdir(exist_ok=True)
    (folder / "cube.py").write_text(text)
    asked = {"model": f"openai:m@{url}", "experiments": 2, "tune": 2, "samples": 2, **science}
    return api.optimize(
        str(folder / "cube.py"), out=folder / "run", science=asked, effort="quick", trials=trials, sample_s=0.0001,
        sampler="random",
    )  # fmt: skip


def bodies(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [dict(e.body) for e in read_entries(folder / "run") if e.kind == kind]


def questions(folder: Path) -> list[str]:
    """Everything that was sent to the model."""
    store = Store(folder / "run")
    found = []
    for body in bodies(folder, "model-call"):
        request = json.loads(store.get(body["request"]))
        found.append("\n".join([request["system"], *(m["content"] for m in request["messages"])]))
    return found
