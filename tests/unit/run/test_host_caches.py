"""Folders of caches, and torch's extension loader where nothing can be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
_USED = """
import os
from kernellab.run.host_caches import use_built
use_built("from torch.utils import cpp_extension")
import torch.utils.cpp_extension as extensions
print(os.environ["TORCH_EXTENSIONS_DIR"], os.environ["HOME"])
os.makedirs("extensions/one")
try:
    extensions.load_inline("one", "int f() { return 1; }", functions=["f"])
except ImportError as error:
    print("looked for", error)
print(sorted(os.listdir("extensions/one")))
"""


def test_an_extension_is_loaded_and_never_built(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _USED], capture_output=True, text=True, cwd=tmp_path, check=False,
                          env={**os.environ, "PATH": "/nowhere"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert first == f"{tmp_path}/extensions {tmp_path}"
    assert second.startswith("looked for")
    assert "one.so" in second
    assert third == "['main.cpp']"
