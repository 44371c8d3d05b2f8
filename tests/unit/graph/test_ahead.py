"""A capture sandbox that is started ahead of the command that wants it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kernellab.graph import ahead
from kernellab.graph.capture import Capturer, parse

MODULE = "import torch\ndef double(x):\n    return x * 2\ndef get_inputs():\n    return [torch.randn(4, 8)]\n"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "own.py"
    path.write_text(MODULE)
    yield path
    while ahead._started:
        ahead._started.popitem()[1].close()


def started(*arguments: str) -> list[tuple[str, ...]]:
    ahead.start(arguments)
    return list(ahead._started)


@pytest.mark.heavy
def test_the_one_that_was_started_for_a_module_is_the_one_that_captures_it(file: Path) -> None:
    assert started("check", f"{file}:double") == [(str(file.parent),)]
    waiting = ahead._started[(str(file.parent),)].zygote_pid
    with Capturer([str(file.parent)]) as capturer:
        assert capturer._sandbox.zygote_pid == waiting
        assert not ahead._started
        assert capturer.capture(parse(f"{file}:double")).nodes[0].op == "aten.mul.Tensor"


@pytest.mark.parametrize("command", ["verify", "bench"])
def test_a_module_that_a_kernel_is_judged_for_has_one_too(command: str, file: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("SPACE = {}\n")
    assert started(command, str(kernel), "--task", f"{file}:double") == [(str(file.parent),)]


def test_one_that_nobody_took_is_ended(file: Path) -> None:
    started("check", "--json", str(file))
    pid = ahead._started[(str(file.parent),)].zygote_pid
    ahead._end()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    "arguments",
    [(), ("check",), ("check", "softmax"), ("show", "own.py:double"), ("check", "lab:rms_norm-f32", "--help")],
)
def test_none_is_started_for_what_names_no_module(arguments: tuple[str, ...]) -> None:
    assert started(*arguments) == []


def test_none_is_started_for_a_file_without_inputs_or_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("SPACE = {}\n")
    assert started("run", "softmax", "--candidate", str(tmp_path / "kernel.py")) == []
    assert started("check", str(tmp_path / "missing.py")) == []


def test_our_own_tasks_lie_in_the_package(file: Path) -> None:
    (folders,) = started("check", "lab:rms_norm-f32")
    assert (Path(folders[0]) / "rms_norm.py").is_file()
