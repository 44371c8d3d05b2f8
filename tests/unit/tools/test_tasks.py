"""list_tasks() and the guide: enough to write a kernel from, and nothing of the held-out shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.suite.problems import SCALED

from kernellab.core.errors import UsageError
from kernellab.core.hardware import caches
from kernellab.propose.prompts import Withheld, estimate_tokens
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.lab import lab_tasks
from kernellab.tools import Spec, ToolContext, Workspace, generate_kernel, list_tasks, verify
from kernellab.tools import compile as compile_kernel
from kernellab.tools.calls import read_call
from kernellab.tools.context import task_files
from kernellab.tools.records import Compiled, Generated, TaskList
from kernellab.tools.resources import Shelf, links_of
from kernellab.tools.tasks import guide


def test_lists_families_and_task_files(context: ToolContext) -> None:
    found = {t.name: t for t in list_tasks(context.files).tasks}
    assert set(found) == {"softmax", "stencil3x3", "stencil5x5", "particle_filter", "cube"}
    assert found["softmax"].dtypes == ("f32", "bf16", "f16")
    assert "c: softmax_blocked" in found["softmax"].recipes
    assert found["cube"].shapes == ("N=65536", "N=32768")


def test_lists_the_tasks_of_a_suite_by_names_that_a_spec_takes(context: ToolContext) -> None:
    found = read_call("list_tasks", {"suite": "lab"}).run(context)
    assert isinstance(found, TaskList)
    assert [t.name for t in found.tasks] == [f"lab:{name}" for name in lab_tasks()]
    assert "klab://task/lab:rms_norm-f32/c" in [link.uri for link in links_of(found)]
    with pytest.raises(UsageError, match="there is no suite 'moon'"):
        list_tasks(context.files, "moon")


@pytest.mark.slow
def test_a_task_of_a_suite_and_a_module_are_tasks_like_any(context: ToolContext, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert "# Candidate format" in Shelf(context).read("klab://task/lab:swiglu-f32/c")
    module = tmp_path / "net.py"
    module.write_text(SCALED)
    own = ToolContext(Workspace(tmp_path / "work"), task_files([Path(f"{module}:Model")]))
    (line,) = [t for t in list_tasks(own.files).tasks if t.name == "net"]
    assert (line.shapes, line.dtypes) == (("d0=64",), ("float32",))
    task, locator = own.locate(Spec(task="net"))
    assert (task.name, locator.endswith(".json")) == ("net", True)
    made = generate_kernel("net", strategy="lower", backend="c", context=own)
    assert isinstance(made, Generated)
    assert own.workspace.kernel(made.kernel).origin == "lower"
    built = compile_kernel(made.kernel, context=own)
    assert isinstance(built, Compiled), built
    assert verify(built.artifact, context=own).status == "passed"
    with pytest.raises(UsageError, match="'tile' is no form of a c kernel of net"):
        generate_kernel("net", strategy="lower", backend="c", base="tile", context=own)
    with pytest.raises(UsageError, match="it is no captured module"):
        generate_kernel("softmax", strategy="lower", backend="c", context=own)


@pytest.mark.parametrize("backend", ["c", "triton", "cuda"])
@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_guide_has_task_format_and_example_and_no_secret(name: str, backend) -> None:  # type: ignore[no-untyped-def]
    text = guide(TASKS[name], backend)
    for part in ("<task_spec>", "# Candidate format", "def launch(", TASKS[name].about[:20]):
        assert part in text
    assert "<answer>" not in text
    assert estimate_tokens(text) < 4000
    secret = Withheld.of(TASKS[name].on("cpu" if backend == "c" else "cuda"))
    text = (
        text.replace(caches(), "") if backend == "c" else text
    )  # a cache may be as large as a shape that is kept back
    assert secret.clean(text) == text
