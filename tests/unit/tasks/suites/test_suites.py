"""Which locators are whose, what a format reads, and what it says of a broken file. Nothing of them runs here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import TaskRefused, UsageError
from kernellab.tasks.suites import all_problems, find_problem

_MODULE = "class Model: ...\ndef get_inputs(): ...\n"
_DEFINITION: dict[str, Any] = {
    "name": "norm_h8", "op_type": "norm", "axes": {"n": {"type": "var"}, "h": {"type": "const", "value": 8}},
    "inputs": {"x": {"shape": ["n", "h"], "dtype": "bfloat16"}, "eps": {"shape": None, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n", "h"], "dtype": "bfloat16"}},
    "reference": "def run(x, eps):\n    return x + eps\n",
}  # fmt: skip


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def definition(folder: Path, workloads: list[Any], **changes: Any) -> str:
    lines = "".join(json.dumps({"definition": "norm_h8", "workload": w}) + "\n" for w in workloads)
    write(folder / "workloads" / "norm" / "norm_h8.jsonl", lines)
    return write(folder / "definitions" / "norm" / "norm_h8.json", json.dumps({**_DEFINITION, **changes}))


def test_a_file_with_a_name_behind_it_is_a_module(tmp_path: Path) -> None:
    path = write(tmp_path / "net.py", _MODULE)
    found = find_problem(f"{path}:Model")
    assert found is not None
    assert (found.name, found.request.name, found.request.file) == ("net", "Model", path)
    other = find_problem(f"{path}:Other")
    assert other is not None
    assert other.name == "net-Other"


def test_a_plain_file_is_a_module_by_what_it_defines(tmp_path: Path) -> None:
    assert find_problem(write(tmp_path / "net.py", _MODULE)) is not None
    assert find_problem(write(tmp_path / "task.py", "TASK = 1\ndef get_inputs(): ...\n")) is None
    assert find_problem(write(tmp_path / "other.py", "x = 1\n")) is None
    assert find_problem("softmax") is None


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        find_problem(f"{tmp_path}/absent.py:Model")


def test_a_folder_with_settings_and_a_number(tmp_path: Path) -> None:
    write(tmp_path / "norm" / "func_forward.py", _MODULE)
    config = {"single_input_configs": [{"n": 2}], "multi_input_configs": [{"n": 2}, {"n": 4}]}
    write(tmp_path / "norm" / "config_forward.json", json.dumps(config))
    first, third = find_problem(f"{tmp_path}/norm"), find_problem(f"{tmp_path}/norm:2")
    assert first is not None
    assert third is not None
    assert (first.name, first.request.inputs, first.suite) == ("norm", {"n": 2}, "robust-kbench")
    assert (third.name, third.request.inputs) == ("norm-2", {"n": 4})
    with pytest.raises(UsageError, match="settings 0 to 2, not 7"):
        find_problem(f"{tmp_path}/norm:7")


def test_a_definition_with_its_workloads(tmp_path: Path) -> None:
    eps = {"x": {"type": "random"}, "eps": {"type": "scalar", "value": 0.5}}
    path = definition(tmp_path, [{"axes": {"n": 3}, "inputs": eps}, {"axes": {"n": 5}, "inputs": eps}])
    second = find_problem(f"{path}:1")
    assert second is not None
    assert (second.name, second.request.name, second.suite) == ("norm_h8-1", "run", "flashinfer-bench")
    assert second.request.text is not None
    assert second.request.text.startswith(_DEFINITION["reference"])
    assert "return [torch.randn([5, 8]).to(torch.bfloat16), 0.5]" in second.request.text
    with pytest.raises(UsageError, match="workloads 0 to 1, not 2"):
        find_problem(f"{path}:2")


@pytest.mark.parametrize(
    ("workload", "changes", "words"),
    [
        ({"axes": {"n": 3}}, {}, "eps is a plain number without a value"),
        ({"axes": {}}, {}, "the input x has no known shape"),
        ({"axes": {"n": 3}}, {"inputs": {"x": {"shape": ["n"], "dtype": "float8_e4m3fn"}}}, "the input x is float8_e4m3fn"),
        ({"no": 1}, {}, "line 1: this is no workload"),
        ({"axes": {"n": 3}}, {"axes": 5}, "axes: Input should be"),
        ({"axes": {"n": 3}, "inputs": {"i": {"type": "safetensors"}}},
         {"inputs": {"i": {"shape": ["n"], "dtype": "int32"}}}, "the input i is read from a file"),
    ],
)  # fmt: skip
def test_a_broken_definition_is_told_in_words(tmp_path: Path, workload: Any, changes: Any, words: str) -> None:
    with pytest.raises(TaskRefused, match=words) as caught:
        find_problem(definition(tmp_path, [workload], **changes))
    assert caught.value.fix


def test_every_problem_of_a_folder_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for name in ("10_b.py", "2_a.py"):
        write(tmp_path / name, _MODULE)
    write(tmp_path / "broken.py", "def get_inputs(:\n")
    write(tmp_path / "helper.py", "x = 1\n")
    definition(tmp_path, [{"axes": {"n": 3}}])
    found = all_problems(str(tmp_path))
    assert [p.name for p in found] == ["norm_h8", "broken", "2_a", "10_b"]
    assert "without a value" in str(found[0].broken)
