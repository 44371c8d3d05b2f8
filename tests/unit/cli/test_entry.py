"""Ctrl-C before the commands are loaded, and what is said at the very end; in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.{before})

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "kernellab.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["klab", "--version"]
from kernellab.cli.entry import main
main()
"""


def start(before: str) -> subprocess.CompletedProcess[str]:
    code = INTERRUPTED.format(before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_ctrl_c_while_the_commands_are_loaded_ends_in_words() -> None:
    done = start("default_int_handler")
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["klab: interrupted before anything was begun", "fix:  start it again"]


@pytest.mark.heavy
def test_a_signal_that_is_ignored_stays_ignored() -> None:
    done = start("SIG_IGN")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kernellab ")


ENDED = """
import builtins, sys
from triton._C.libtriton import ir
from kernellab.cli.entry import main
context = ir.context()
ir.load_dialects(context)
builtins.kept = [context, ir.builder(context)]
sys.argv = ["klab", "--version"]
main()
"""


@pytest.mark.heavy
def test_libraries_say_nothing_when_all_is_over() -> None:
    pytest.importorskip("triton")
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
