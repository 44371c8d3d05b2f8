from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from kernellab.core.own_code import PACKAGE, code_digest, own_code


def small(folder: Path) -> Path:
    (folder / "recipes").mkdir(parents=True)
    (folder / "a.py").write_text("A = 1\n")
    (folder / "recipes" / "b.j2").write_text("text")
    return folder


def test_every_file_of_the_package_counts_its_text_and_its_place(tmp_path: Path) -> None:
    package = small(tmp_path / "one")
    first = code_digest(package)
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert code_digest(small(tmp_path / "two")) == first
    seen = {first}
    (package / "recipes" / "b.j2").write_text("texts")
    seen.add(code_digest(package))
    (package / "recipes" / "b.j2").rename(package / "b.j2")
    seen.add(code_digest(package))
    (package / "cheat.c").write_text("")
    seen.add(code_digest(package))
    assert len(seen) == 4


def test_compiled_caches_do_not_count(tmp_path: Path) -> None:
    package = small(tmp_path / "one")
    before = code_digest(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.cpython-312.pyc").write_bytes(b"\0")
    (package / "a.pyc").write_bytes(b"\0")
    assert code_digest(package) == before


def test_the_digest_is_that_of_the_package_that_runs(tmp_path: Path) -> None:
    """A copy that was never installed names itself the same way."""
    assert own_code() == code_digest(PACKAGE)
    shutil.copytree(PACKAGE, tmp_path / "kernellab", ignore=shutil.ignore_patterns("__pycache__"))
    text = ("from kernellab.core.own_code import PACKAGE, own_code; from kernellab.run.device import describe_environment as d;"
            "print(PACKAGE, own_code(), d('x', 'gcc', 'T1', 1)['packages']['kernellab'])")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, check=True)  # fmt: skip
    place, code, version = done.stdout.split()
    assert (Path(place), code) == (tmp_path / "kernellab", own_code())
    assert version != "absent"
