"""Files made small as text: what is a size is cut, what is not stays."""

from __future__ import annotations

import ast
from typing import Any

from kernellab.graph.source import Request
from kernellab.tasks.suites.reduced import attempts, shrunk, shrunk_settings, small_batch

TEXT = """
batch = 1024
features = 8192 * 2
eps = 1e-5
shape = (4096, 3)

def get_inputs():
    return [torch.rand(batch, 1000)]
"""


def assigned(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = ast.literal_eval(statement.value)
    return found


def test_sizes_are_cut_to_the_limit_and_go_on_differing() -> None:
    cut = assigned(shrunk(TEXT, 64))
    assert max(cut["batch"], cut["features"], *cut["shape"]) <= 64
    assert len({cut["features"], cut["shape"][0], cut["batch"]}) == 3
    assert (cut["eps"], cut["shape"][1]) == (1e-5, 3)
    assert "torch.rand(batch, 1000)" in shrunk(TEXT, 64)


def test_only_the_batch_is_cut_where_the_others_depend_on_each_other() -> None:
    assert assigned(small_batch("batch = 64\nwide = 512\n")) == {"batch": 2, "wide": 512}


def test_settings_of_a_folder_are_cut_too() -> None:
    assert shrunk_settings({"n": 4096, "eps": 1e-5, "bias": True, "dtype": "float32"}, 64) == {
        "n": 64, "eps": 1e-5, "bias": True, "dtype": "float32",
    }  # fmt: skip
    assert shrunk_settings(None, 64) is None


def test_the_attempts_begin_small_and_end_with_the_file_as_it_is() -> None:
    tries = attempts(Request("a.py", init={"n": 4096}), TEXT.replace(" * 2", ""))
    assert tries[0][0].init == {"n": 64}
    assert assigned(str(tries[-2][0].text))["shape"] == (4096, 3)
    assert "batch = 2" in str(tries[-1][0].text)
    assert [most for _, most in tries] == sorted(most for _, most in tries)


def test_a_file_that_is_no_python_has_none() -> None:
    assert attempts(Request("a.py"), "def (:") == []


def test_a_size_may_be_computed_from_numbers() -> None:
    text = "N = 1 << 26\nM = 2**20 + 1\nK = 4096 // 2 - 8\nhuge = 1 << 10**9\nnone = 1 // 0\nother = N * 2\n"
    cut = shrunk(text, 64)
    assert assigned(cut.split("huge")[0]) == {"N": 64, "M": 33, "K": 8}
    assert cut.splitlines()[3:] == ["huge = 1 << 10 ** 9", "none = 1 // 0", "other = N * 2"]


def test_numbers_that_are_no_sizes_are_left_alone_and_cost_nothing() -> None:
    huge = "*".join(["65535**64"] * 50)
    text = f"A = {huge}\nB = {huge} // {huge}\nC = {'9' * 4000}\nN = 4096\n"
    assert shrunk(text, 64).splitlines()[-1] == "N = 64"
    assert ast.unparse(ast.parse(shrunk(f"A = {huge}\n", 64))) == ast.unparse(ast.parse(f"A = {huge}\n"))
    assert shrunk("N = 2 ** 63", 64) == "N = 64"
