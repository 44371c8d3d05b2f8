"""Arguments are read strictly: wrong types and unknown names are refused by name, with the nearest one."""

from __future__ import annotations

from typing import Any

import pytest

from kernellab.core.errors import UsageError
from kernellab.tools.calls import CALLS, Compile, Verify, read_call


def test_there_are_at_most_eight_tools_and_each_says_what_it_does() -> None:
    assert len(CALLS) == 8
    assert len({kind.name for kind in CALLS}) == 8
    assert all(len(kind.about) > 40 for kind in CALLS)


def test_reads_good_arguments() -> None:
    call = read_call("verify", {"artifact": "a1", "tol": 2})
    assert isinstance(call, Verify)
    assert call.tol == 2.0
    made = read_call(
        "compile", {"src": "x", "spec": {"task": "softmax"}, "params": {"A": 1, "B": True, "C": "x", "D": 0.5}}
    )
    assert isinstance(made, Compile)
    assert made.params == {"A": 1, "B": True, "C": "x", "D": 0.5}


@pytest.mark.parametrize(
    ("tool", "arguments", "what", "fix"),
    [
        ("verfiy", {}, "no tool 'verfiy'", "did you mean 'verify'"),
        ("verify", {"artifakt": "a1"}, "there is no 'artifakt'", "did you mean 'artifact'"),
        ("verify", {}, "'artifact' is missing", "artifact"),
        ("verify", {"artifact": 3}, "'artifact'", "known:"),
        ("verify", {"artifact": "a", "tol": "1e-3"}, "'tol'", "known:"),
        ("verify", {"artifact": "a", "tol": float("inf")}, "not plain JSON", "finite"),
        ("benchmark", {"artifact": "a", "repeats": "41"}, "'repeats'", "known:"),
        ("benchmark", {"artifact": "a", "repeats": True}, "'repeats'", "known:"),
        ("benchmark", {"artifact": "a", "shapes": "4096"}, "'shapes'", "known:"),
        ("benchmark", {"artifact": "a", "shapes": [1]}, "'shapes.0'", ""),
        ("compile", {"src": "x", "spec": {"tusk": "softmax"}}, "'spec.tusk'", "did you mean 'task'"),
        ("compile", {"src": "x", "spec": "softmax"}, "'spec'", "known:"),
        ("compile", {"src": "x" * 400_001}, "'src'", "known:"),
        ("generate_kernel", {"task": "softmax"}, "no 'task'", "did you mean 'spec'"),
        ("generate_kernel", {"spec": {"task": "softmax"}, "strategy": "guess"}, "'strategy'", "known:"),
        ("generate_kernel", {"spec": {"task": "softmax"}, "meta_space": {"A": 3}}, "'meta_space.A'", ""),
        ("contrastive_select", {"db": "r", "scheme": "best"}, "'scheme'", "known:"),
        ("explain", {"run": "r", "trial": "0"}, "'trial'", "known:"),
    ],
)  # fmt: skip
def test_refuses_by_name(tool: str, arguments: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_call(tool, arguments)
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert len(caught.value.what) < 400
