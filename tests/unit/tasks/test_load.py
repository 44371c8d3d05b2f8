from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.load import load_task
from kernellab.verdict.controls import prove
from kernellab.verdict.wrong_kernels import CONTROLS

GOOD = """
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x):
    return -x

TASK = Task(name="negate", about="-x", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),),
            reference=reference, tune=({"N": 64},), held_out=({"N": 65},), edge=({"N": 1},), distributions=STANDARD)
"""


def write(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", ["softmax", "stencil3x3", "stencil5x5", "particle_filter"])
def test_a_built_in_task_is_found_by_name(name: str) -> None:
    assert load_task(name).name == name


@pytest.mark.parametrize(
    ("typed", "meant"), [("sofmax", "softmax"), ("stencil3", "stencil3x3"), ("particle-filter", "particle_filter")]
)
def test_an_unknown_name_suggests_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"no task '{typed}'") as caught:
        load_task(typed)
    assert f"did you mean '{meant}'?" in caught.value.fix


def test_a_name_like_nothing_else_still_says_how_to_go_on() -> None:
    with pytest.raises(UsageError) as caught:
        load_task("qqqq")
    assert "klab tasks" in caught.value.fix
    assert "did you mean" not in caught.value.fix


@pytest.mark.parametrize("family", ["softmax", "stencil3x3", "stencil5x5", "particle_filter"])
@pytest.mark.parametrize(
    ("dtype", "suffix"),
    [
        ("", ""),
        ("f32", ""),
        ("float32", ""),
        ("bf16", "_bf16"),
        ("bfloat16", "_bf16"),
        ("f16", "_f16"),
        ("float16", "_f16"),
    ],
)
def test_a_dtype_picks_the_variant_of_a_family(family: str, dtype: str, suffix: str) -> None:
    assert load_task(family, dtype) is TASKS[family + suffix]


def test_a_variants_own_name_may_be_given_with_its_dtype() -> None:
    assert load_task("softmax_bf16") is load_task("softmax_bf16", "bf16") is TASKS["softmax_bf16"]


@pytest.mark.parametrize(("name", "dtype"), [("softmax_bf16", "f16"), ("softmax_f16", "f32")])
def test_a_variant_is_not_asked_for_another_dtype(name: str, dtype: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is not a float") as caught:
        load_task(name, dtype)
    assert "'softmax'" in caught.value.fix


def test_an_unknown_dtype_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="no dtype 'fp8'") as caught:
        load_task("softmax", "fp8")
    assert "f32, bf16, f16" in caught.value.fix


def test_a_dtype_cannot_be_asked_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a dtype cannot be asked") as caught:
        load_task(write(tmp_path, GOOD), "bf16")
    assert "Buffer" in caught.value.fix


def test_a_file_gives_its_task(tmp_path: Path) -> None:
    assert load_task(write(tmp_path, GOOD)).name == "negate"


def test_two_files_of_one_name_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = write(tmp_path / "a", GOOD), write(tmp_path / "b", GOOD.replace('"negate"', '"other"'))
    assert (load_task(first).name, load_task(second).name, load_task(first).name) == ("negate", "other", "negate")


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    assert load_task(write(tmp_path, GOOD)).name == "negate"
    assert load_task(write(tmp_path, GOOD.replace('"negate"', '"renamed_to_something"'))).name == "renamed_to_something"


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file") as caught:
        load_task(str(tmp_path / "none.py"))
    assert "klab init" in caught.value.fix


def test_a_folder_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "problems.py").mkdir()
    for folder in (str(tmp_path), str(tmp_path / "problems.py")):
        with pytest.raises(UsageError, match="is a folder") as caught:
            load_task(folder)
        assert caught.value.fix.endswith(f"klab suite run --path {folder}")


def test_a_pytorch_file_without_inputs_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(TaskRefused, match=r"defines no TASK and no get_inputs\(\)") as caught:
        load_task(write(tmp_path, "import torch\n\nclass Net(torch.nn.Module):\n    pass\n"))
    assert "add get_inputs()" in caught.value.fix


def test_a_syntax_error_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(TaskRefused, match=r"mine\.py, line 3: ") as caught:
        load_task(write(tmp_path, "x = 1\ny = 2\ndef f(:\n"))
    assert caught.value.fix == "correct the syntax"


def test_an_error_on_import_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(TaskRefused, match=r"mine\.py, line 2: ZeroDivisionError: division by zero"):
        load_task(write(tmp_path, "x = 1\ny = x / 0\n"))


@pytest.mark.parametrize("text", ["", "TASK = 5\n", "task = None\n"])
def test_a_file_without_a_task_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TaskRefused, match="defines no TASK") as caught:
        load_task(write(tmp_path, text))
    assert "TASK = Task(...)" in caught.value.fix


def test_a_refusal_by_the_task_itself_comes_through_unchanged(tmp_path: Path) -> None:
    with pytest.raises(TaskRefused, match="task 'negate': has no edge shapes"):
        load_task(write(tmp_path, GOOD.replace('edge=({"N": 1},)', "edge=()")))


def test_a_file_that_exits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskRefused):
        load_task(write(tmp_path, "raise SystemExit(0)\n"))


def test_the_example_in_the_documentation_is_a_task_that_proves_its_judge(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "tasks.md").read_text()
    task = load_task(write(tmp_path, page.split("```python\n")[1].split("```")[0]))
    assert prove(task) == prove(task.on("cuda")) == len(CONTROLS)
