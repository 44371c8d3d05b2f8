from __future__ import annotations

import ast
from pathlib import Path

from kernellab.cli.template import render
from kernellab.tasks.load import load_task
from kernellab.verdict.controls import prove


def test_the_template_is_a_task_that_proves_its_own_judge(tmp_path: Path) -> None:
    path = tmp_path / "my_op.py"
    path.write_text(render("my_op", str(path)))
    task = load_task(str(path))
    assert task.name == "my_op"
    prove(task)


def test_the_template_carries_a_first_kernel_with_choices() -> None:
    names = {
        t.id
        for node in ast.parse(render("a", "a.py")).body
        if isinstance(node, ast.Assign)
        for t in node.targets
        if isinstance(t, ast.Name)
    }
    assert {"TASK", "SOURCE", "FLAGS", "SPACE"} <= names


def test_the_template_says_how_to_run_it_and_leaves_no_brace_behind() -> None:
    text = render("my_op", "folder/my_op.py")
    assert "klab run folder/my_op.py" in text
    assert "{name}" not in text
    assert "{file}" not in text
