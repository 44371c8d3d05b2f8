"""What a build may leave, and what is made of it; the builds themselves are in tests/e2e/test_host_gauntlet.py."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernellab.core.ids import sha256_hex
from kernellab.run.host_build import BUILD_JOB, Caches, _opened, build_solution, compiles, refuse_torch_compile
from kernellab.run.host_samples import NotLoaded
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox

pytest.importorskip("torch")
_MODEL = """
import subprocess, torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""


def bundle(head: object, body: bytes = b"") -> bytes:
    said = json.dumps(head).encode()
    return len(said).to_bytes(8, "little") + said + body


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("auto", [BUILD_JOB]) as opened:
        yield opened


def built(sandbox: Sandbox, text: str, tmp_path: Path) -> Caches:
    kind = {"shape": [2, 3], "dtype": "float32"}
    setup = {"file": str(tmp_path / "solution.py"), "text": text, "places": [""], "arguments": [None],
             "request": {"file": "", "text": None}}  # fmt: skip
    return build_solution(sandbox, setup, [{"inputs": [kind], "outputs": [kind]}])


def test_files_are_found_where_they_lie() -> None:
    found = _opened(bundle({"files": [["a/b.so", 3], ["c", 0], ["d", 2]]}, b"onety"))
    assert isinstance(found, Caches)
    assert found.places() == {"a/b.so": (0, 3), "c": (3, 0), "d": (3, 2)}
    assert found.hashes == {"a/b.so": sha256_hex(b"one"), "c": sha256_hex(b""), "d": sha256_hex(b"ty")}


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 20, bundle([]), bundle({"files": 3}), bundle({"files": [["a", 9]]}, b"one"),
             bundle({"files": [["a", -1], ["b", 4]]}, b"one"), bundle({"files": [["a"]]}), bundle({"files": [["a", math.inf]]}, b"one")],
)  # fmt: skip
def test_what_is_no_bundle_is_none(data: bytes) -> None:
    assert _opened(data) is None


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../b", "a//b", ".", "", "a\x00b", "a b", "x" * 200])
def test_names_stay_inside_the_folder(name: str) -> None:
    assert _opened(bundle({"files": [[name, 1]]}, b"x")) == "it left files of names that the laboratory does not keep"


def test_two_files_of_one_name_and_too_many_are_refused() -> None:
    assert "names" in str(_opened(bundle({"files": [["a", 1], ["a", 1]]}, b"xy")))
    assert "it left 401 files" in str(_opened(bundle({"files": [[str(n), 0] for n in range(401)]})))


def test_only_what_looks_like_it_is_built() -> None:
    assert compiles("from torch.utils.cpp_extension import load_inline")
    assert compiles("subprocess.run(['cc'])")
    assert not compiles("class ModelNew: pass")


@pytest.mark.parametrize("text", ["f = torch.compile(g)", "@torch.compile\ndef f(): pass", "from torch import compile"])
def test_torch_compile_is_refused_in_words(text: str) -> None:
    with pytest.raises(NotLoaded, match=r"uses torch\.compile"):
        refuse_torch_compile(text)


@pytest.mark.parametrize("text", ["# torch.compile", "re.compile('x')", "torch.relu(x)", "no Python at all"])
def test_what_is_not_torch_compile_is_not_refused(text: str) -> None:
    refuse_torch_compile(text)


def test_a_build_keeps_plain_files_and_the_folders_are_said_in_the_environment(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    lines = """
import os
os.makedirs(os.environ["TORCH_EXTENSIONS_DIR"])
open(os.environ["TORCH_EXTENSIONS_DIR"] + "/one.so", "w").write("x")
open("left.o", "w").write("y")
os.symlink("/etc/passwd", "linked")
"""
    found = built(sandbox, lines + _MODEL, tmp_path)
    assert found.hashes == {"extensions/one.so": sha256_hex(b"x")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ValueError('no such luck')", "while it was built: solution.py:1: ValueError: no such luck"),
        (_MODEL.replace("x + 1", "x.sum()"), "output 0 is"),
        ("import os; os._exit(3)", "left nothing that can be read"),
        (_MODEL + "import socket; socket.socket()", "PermissionError"),
    ],
)
def test_a_build_that_fails_says_why(sandbox: Sandbox, tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(NotLoaded) as fault:
        built(sandbox, text, tmp_path)
    assert words in fault.value.reason
