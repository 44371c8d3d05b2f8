"""Tasks and candidates in every form that a caller may have at hand, inside a running event loop, and what a notebook shows."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE

import kernellab
from kernellab import api
from kernellab.core.errors import UsageError
from kernellab.ledger.run import Run
from kernellab.propose.given import given_candidate
from kernellab.search.outcome import Outcome
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import load_task, task_locator

SOURCE = '''FLAGS = ["-O3"]
SOURCE = r"""
void cube(const float *restrict x, float *restrict y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]); }
"""

def launch(x, y, **_):
    kernel("cube")(x, y, x.size)
'''
QUICK: dict[str, Any] = {"sample_s": 0.0003, "cache": False}


def test_a_candidate_is_a_path_a_text_or_a_function_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("mine", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {given_candidate(form).text for form in (file, str(file), SOURCE, module.launch)} == {SOURCE}
    made_up: dict[str, Any] = {}
    exec("def launch(x, y): ...", made_up)
    for nowhere in (made_up["launch"], len):
        with pytest.raises(UsageError, match="was not written in a file"):
            given_candidate(nowhere)


def test_a_task_stands_for_the_file_that_it_is_written_in(task_file: Path) -> None:
    assert task_locator(TASKS["softmax"]) == "softmax"
    assert task_locator(load_task(str(task_file))) == str(task_file)
    assert api.locate(task_file, "") == api.locate(load_task(str(task_file)), "") == str(task_file)
    changed = TASKS["softmax"].__class__(**{**TASKS["softmax"].__dict__, "name": "other"})
    with pytest.raises(UsageError, match="is not the TASK of a file"):
        task_locator(changed)


@pytest.mark.heavy
@pytest.mark.backend_c
def test_works_inside_a_running_event_loop_as_in_a_notebook(task_file: Path, tmp_path: Path) -> None:
    async def cell() -> Outcome:
        return kernellab.verify(SOURCE, load_task(str(task_file)), out=tmp_path / "run", shape="4096", **QUICK)

    outcome = asyncio.run(cell())
    assert outcome.status == "verified"
    shown = outcome._repr_html_()
    assert "N=4096" in shown
    assert "right in" in shown


def test_a_notebook_shows_figures_with_intervals_and_nothing_that_a_browser_would_run() -> None:
    results = tuple(r.model_copy(update={"reason": "<script>alert(1)</script>"}) for r in Run(CUBE).results)
    shown = Outcome(CUBE, "T1", "native", "00", results)._repr_html_()
    assert "3.000x [3.000, 3.000]" in shown
    assert "<svg" in shown
    assert "<script>" not in shown


def test_names_signatures_and_docstrings_are_visible() -> None:
    for name in ("optimize", "verify", "measure", "study", "paper"):
        function = getattr(kernellab, name)
        assert name in dir(kernellab)
        assert function.__doc__
        assert "return" in inspect.get_annotations(function)
        assert importlib.util.find_spec(f"kernellab.{name}") is None, "a folder of this name would take its place"
