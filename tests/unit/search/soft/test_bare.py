"""Bare files: the same code, without words that give its purpose away."""

from __future__ import annotations

import ast
from pathlib import Path

from kernellab.search.gauntlet import builtin_folder
from kernellab.search.soft.bare import bare

FILE = '''"""A cheat."""

TASK = "softmax"
CAUGHT_BY = ("stale",)
HARMLESS = True
FLAGS = ["-O3"]  # not for the caught
SOURCE = r"""
/* remembers the
   last answer */
void k(const float *x, float *y) { y[0] = x[0]; // cheats
}
"""


def launch(x, y):
    # nothing honest
    kernel("k")(x, y)
'''


def test_docstring_comments_and_telling_constants_go_and_code_stays() -> None:
    text = bare(FILE)
    for word in ("cheat", "CAUGHT_BY", "HARMLESS", "TASK", "remembers", "honest", "caught"):
        assert word not in text.lower().replace("caught_by", "CAUGHT_BY")
    assert 'FLAGS = ["-O3"]' in text
    assert "void k(const float *x, float *y) { y[0] = x[0];" in text
    assert 'kernel("k")(x, y)' in text


def test_what_is_no_python_stays_as_it_is() -> None:
    assert bare("def launch(:\n") == "def launch(:\n"


def test_every_file_of_the_gauntlet_is_still_a_file_of_the_same_functions() -> None:
    for path in sorted(Path(builtin_folder() / "c").glob("honest_*.py")):
        text = path.read_text()
        names = [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
        kept = ast.parse(bare(text))
        assert [n.name for n in kept.body if isinstance(n, ast.FunctionDef)] == names
        assert "catalogue" not in bare(text)
