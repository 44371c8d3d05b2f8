"""`klab verify` on a GPU as its users meet it: a process, its exit code and its last line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu
TASK_FILE = """
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x):
    return 2 * x * x * x

TASK = Task(name="cube", about="2 x^3", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),),
            reference=reference, gpu_baselines={"plain": reference}, tune=({"N": 1 << 20},), held_out=({"N": 50003},),
            edge=({"N": 1}, {"N": 7}, {"N": 1025}), distributions=STANDARD)
"""
CANDIDATE = '''
"""One thread an element."""
SOURCE = r"""
__global__ void cube(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * (x[i] * x[i] * x[i]) STATEMENT;
}
"""

def launch(x, y):
    kernel("cube")[-(-x.size // 256), 256](x, y, x.size)
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("verify")
    (made / "cube.py").write_text(TASK_FILE)
    (made / "honest.py").write_text(CANDIDATE.replace("STATEMENT", ""))
    (made / "cheat.py").write_text(CANDIDATE.replace("STATEMENT", "* (n == 50003 ? 1.001f : 1)"))
    return made


def verify(folder: Path, name: str) -> tuple[int, dict[str, Any], str]:
    pytest.importorskip("torch")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KLAB_", "XDG_"))}
    home = {"HOME": str(folder), "KLAB_HOME": str(folder / "klab"), "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}  # fmt: skip
    start = [sys.executable, "-c", "from kernellab.cli.app import main; main()"]
    done = subprocess.run(
        [*start, "verify", str(folder / name), "--task", str(folder / "cube.py"), "--json"],
        capture_output=True, text=True, env={**kept, **home}, timeout=120, check=False, stdin=subprocess.DEVNULL,
        cwd=folder,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), done.stdout + done.stderr


def test_an_honest_kernel_passes(folder: Path) -> None:
    code, found, said = verify(folder, "honest.py")
    assert (code, found["status"]) == (0, "passed"), said


def test_one_that_is_wrong_at_a_held_out_shape_does_not_and_is_not_told_which(folder: Path) -> None:
    code, found, said = verify(folder, "cheat.py")
    assert (code, found["status"]) == (4, "rejected"), said
    assert "50003" not in said
    assert "50003" not in json.dumps(found)
