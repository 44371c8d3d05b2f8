"""The bar of a notebook: in a real kernel with a running loop; what it says, and what it never does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE
from tests.unit.test_api_forms import SOURCE

from kernellab.core.events import Event, silent
from kernellab.ledger.run import Run
from kernellab.report.notebook_bar import NotebookBar, watched

nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
CELL = """
import asyncio
assert asyncio.get_running_loop().is_running()
await asyncio.sleep(0)
import kernellab
kernellab.optimize({task!r}, shapes=["N=4096"], candidates=[{source!r}], trials=1, effort="quick", out={out!r},
                   device="cpu", sample_s=0.0003, cache=False)
"""


def run_in_a_kernel(cell: str, folder: Path) -> list[dict[str, Any]]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", allow_errors=True,
                   resources={"metadata": {"path": str(folder)}}).execute()  # fmt: skip
    found: list[dict[str, Any]] = notebook.cells[0].outputs
    return found


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_notebook_shows_one_bar_and_then_the_outcome(task_file: Path, tmp_path: Path) -> None:
    outputs = run_in_a_kernel(CELL.format(task=str(task_file), source=SOURCE, out=str(tmp_path / "run")), tmp_path)
    errors = [o for o in outputs if o["output_type"] == "error"]
    assert errors == []
    (bar,) = [o["data"] for o in outputs if o["output_type"] == "display_data"]
    assert '<progress value="1" max="1"' in bar["text/html"]
    assert "1 of at most 1 trials" in bar["text/html"]
    assert "; ended" in bar["text/plain"]
    (outcome,) = [o["data"] for o in outputs if o["output_type"] == "execute_result"]
    assert "N=4096" in outcome["text/html"]


@pytest.mark.heavy
@pytest.mark.backend_c
def test_what_breaks_off_is_told_in_the_bar_too(task_file: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ledger.jsonl").write_text("somebody's\n")
    cell = CELL.format(task=str(task_file), source=SOURCE, out=str(tmp_path / "run"))
    outputs = run_in_a_kernel(cell, tmp_path)
    (error,) = [o for o in outputs if o["output_type"] == "error"]
    (bar,) = [o["data"] for o in outputs if o["output_type"] == "display_data"]
    assert f"broken off: {error['ename']}" in bar["text/html"]


def bar() -> tuple[NotebookBar, list[str]]:
    drawn: list[str] = []

    def show(first: NotebookBar) -> Callable[[NotebookBar], Any]:
        drawn.append(first._repr_html_())
        return lambda again: drawn.append(again._repr_html_())

    return NotebookBar(show), drawn


def test_texts_of_others_are_escaped() -> None:
    made, drawn = bar()
    harm = "<script>alert(1)</script>"
    made(Event("stage", harm, {"number": 0, "shapes": 1, "trials": 2}))
    made(Event("note", harm))
    best = Run(CUBE).trials[0]
    made(
        Event(
            "trial",
            "",
            {"trial": best.model_copy(update={"proposal": best.proposal.model_copy(update={"name": harm})})},
        )
    )
    made.end("ended")
    assert "best so far: " in drawn[-1]
    assert 'value="1" max="2"' in drawn[-1]
    assert all("<script" not in html for html in drawn)


def test_a_screen_that_fails_never_ends_a_run() -> None:
    def broken(_: NotebookBar) -> None:
        raise ConnectionError("the browser is gone")

    made = NotebookBar(lambda _: broken)
    for number in range(3):
        made(Event("stage", f"shape {number}", {"number": number, "shapes": 3, "trials": 1}))
    made.end("ended")


def test_without_a_notebook_nothing_is_drawn_and_a_listener_of_ones_own_is_heard() -> None:
    with watched(None) as nobody:
        assert nobody is silent
    heard: list[Event] = []
    with watched(heard.append) as mine:
        mine(Event("note", "here"))
    assert [e.text for e in heard] == ["here"]
