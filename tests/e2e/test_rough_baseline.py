"""A task with a right, a rough and a wrong baseline: the rough one is the one to beat, and no excuse for a rough kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.report.audit import audit

from .command import Klab
from .conftest import bodies

pytestmark = pytest.mark.backend_c
TASK = """
import numpy as np
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x):
    return 2 * x ** 3

def with_numpy(x, y):
    for _ in range(40):
        y[...] = np.float32(2) * (x * x * x)

def rough(x, y):
    for _ in range(20):
        y[...] = np.float32(2 + 100 * 2.0 ** -23) * (x * x * x)

def wrong(x, y):
    y[...] = np.float32(2.02) * x

TASK = Task(name="cube", about="2 x^3", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),),
            reference=reference, baselines={"numpy": with_numpy, "rough": rough, "wrong": wrong}, tune=({"N": 16384},),
            held_out=({"N": 5003},), edge=({"N": 1}, {"N": 7}, {"N": 1025}), distributions=STANDARD)
"""
CANDIDATE = """SOURCE = "void cube(const float *x, float *y, long n) {{ for (long i = 0; i < n; i++) y[i] = {} * (x[i] * x[i] * x[i]); }}"
FLAGS = ["-O3"]
def launch(x, y):
    kernel("cube")(x, y, x.size)
"""


def test_a_rough_baseline_is_beaten_by_right_kernels_alone(klab: Klab, tmp_path: Path) -> None:
    task, run = tmp_path / "task.py", tmp_path / "run"
    task.write_text(TASK)
    for name, factor in (("right", "2.0f"), ("as_rough", "(2.0f + 100 * 0x1p-23f)")):
        (tmp_path / f"{name}.py").write_text(CANDIDATE.format(factor))
    files = [word for name in ("as_rough", "right") for word in ("--candidate", str(tmp_path / f"{name}.py"))]
    done = klab(
        "run", str(task), *files, "--effort", "quick", "--device", "cpu", "--trials", "2", "--out", str(run), "--json"
    )
    assert "Traceback" not in done.err, done.err
    calibration = bodies(run, "calibration")[0]
    assert calibration["fastest"] == "rough"
    assert set(calibration["baselines"]) == {"numpy", "rough"}
    assert "ULP against a budget of" in calibration["rough"].pop("rough")
    assert calibration["rough"] == {}
    assert list(calibration["failed"]) == ["wrong"]
    fates = {body["proposal"]["name"]: body for body in bodies(run, "trial")}
    assert fates["as_rough"]["status"] == "rejected"
    assert fates["as_rough"]["verdict"]["cause"] == "wrong-output"
    assert fates["right"]["status"] in ("measured", "busy")
    if fates["right"]["status"] == "measured":
        assert fates["right"]["timing"]["baseline"] == "rough"
    assert audit(run).problems == []
