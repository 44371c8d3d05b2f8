"""Exported packages: written from the command line, used where kernellab cannot be imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.support.softmax_run import softmax_run

from .command import Done, Klab
from .conftest import Recorded, bodies

pytestmark = pytest.mark.backend_c
Command = Callable[..., Done]
ALONE = "import sys, runpy; sys.modules['kernellab'] = None; sys.path.insert(0, '.'); runpy.run_path(sys.argv[1], run_name='__main__')"


@pytest.fixture(scope="module")
def laboratory(klab: Klab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Command]:
    """A copy of the softmax run that all share, and klab with the key that signed it."""
    shared, key = softmax_run(tmp_path_factory)
    folder = tmp_path_factory.mktemp("softmax")
    shutil.copytree(key, folder / "key")
    return shutil.copytree(shared, folder / "run"), partial(klab, env={"KLAB_HOME": str(folder / "key")})


@pytest.fixture(scope="module")
def lab(laboratory: tuple[Path, Command]) -> Command:
    return laboratory[1]


@pytest.fixture(scope="module")
def certified(laboratory: tuple[Path, Command]) -> Path:
    """The promoted certificate of a built-in softmax."""
    run, lab = laboratory
    return promoted(lab, run)


def promoted(klab: Command, run: Path) -> Path:
    trial = next(c["trial"] for c in bodies(run, "confirmation") if c["timing"] is not None)
    path = Path(klab("certify", run, trial, "--out", run / "certificates" / "promoted.json", "--json").json["file"])
    assert klab("review", "accept", path, "--reason", "looked at").code == 0
    assert klab("promote", path).code == 0
    return path


def run_alone(folder: Path, test: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KLAB_")}
    environment = {**kept, "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, test], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.heavy(of="export")
def test_a_module_passes_its_own_test_without_kernellab(lab: Command, certified: Path, tmp_path: Path) -> None:
    done = lab("export", certified, "--as", "module", "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert done.json["reviewed"]
    assert "ok test_the_certified_kernels_are_what_runs" in run_alone(tmp_path / "out", "test_klab_softmax.py")


@pytest.mark.heavy(of="export")
def test_a_torch_operator_compiles_checks_and_has_gradients_without_kernellab(
    lab: Command, certified: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    assert lab("export", certified, "--as", "torch-op", "--out", tmp_path / "out").code == 0
    said = run_alone(tmp_path / "out", "test_klab_softmax.py")
    for test in (
        "opcheck",
        "compiles_in_one_graph",
        "gradients",
        "second_derivatives",
        "forward_mode_and_torch_func",
        "the_certified_kernels_are_what_runs",
    ):
        assert f"ok test_{test}" in said


@pytest.mark.heavy(of="export")
def test_a_c_library_builds_and_passes_its_own_test(lab: Command, certified: Path, tmp_path: Path) -> None:
    assert lab("export", certified, "--as", "c", "--out", tmp_path / "out").code == 0
    done = subprocess.run(["make", "test"], cwd=tmp_path / "out", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout


@pytest.mark.slow
def test_a_task_of_the_users_own_without_a_torch_expression(klab: Klab, copied: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = promoted(klab, copied)
    assert klab("export", path, "--as", "torch-op", "--out", tmp_path / "out").code == 0
    text = (tmp_path / "out" / "klab_cube" / "op.py").read_text()
    assert "no gradient" in text
    said = run_alone(tmp_path / "out", "test_klab_cube.py")
    assert "ok test_gradients" in said
    assert "ok test_forward_mode_and_torch_func" in said


AWKWARD = '''"""Sums under names that the exported code could have for itself."""
import numpy as np
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x, x_at, zip, y_out):
    return x + x_at + zip + y_out

def scale(x, x_at, zip, y_out):
    return abs(x) + abs(x_at) + abs(zip) + abs(y_out)

def with_numpy(x, x_at, zip, y_out, y):
    y[...] = np.array(x + x_at) + np.sqrt(zip * zip + 0) * np.sign(zip) + y_out

TASK = Task(name="class", about="a sum", inputs=tuple(Buffer(n, ("axes", "len")) for n in ("x", "x_at", "zip", "y_out")),
            outputs=(Buffer("y", ("axes", "len")),), reference=reference, baselines={"numpy": with_numpy},
            tune=({"axes": 64, "len": 64},), held_out=({"axes": 50, "len": 3},),
            edge=({"axes": 1, "len": 1}, {"axes": 7, "len": 5}), distributions=STANDARD,
            scale=scale)
SOURCE = """void add(const float *a, const float *b, const float *c, const float *d, float *restrict y, long n) {
    for (long i = 0; i < n; i++) y[i] = a[i] + b[i] + c[i] + d[i];
}"""
def launch(a, b, c, d, y):
    kernel("add")(a, b, c, d, y, a.size)
'''


@pytest.mark.slow
def test_names_that_the_exported_code_has_for_itself(klab: Klab, tmp_path: Path) -> None:
    (tmp_path / "awkward.py").write_text(AWKWARD)
    run = tmp_path / "run"
    done = klab(
        "run", tmp_path / "awkward.py", "--effort", "quick", "--trials", 1, "--device", "cpu", "--out", run, "--json"
    )
    assert done.code in (0, 3, 7), done.err
    path = promoted(klab, run)
    assert klab("export", path, "--as", "module", "--out", tmp_path / "out").code == 0
    said = run_alone(tmp_path / "out", "test_klab_class.py")
    assert "ok test_the_certified_kernels_are_what_runs" in said
    assert klab("export", path, "--as", "c", "--out", tmp_path / "c").code == 0
    built = subprocess.run(["make", "test"], cwd=tmp_path / "c", capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    fast = "import klab_class as k; from klab_class import host; import numpy as np; host._slowly = None;"
    use = f"{fast} x = k.empty((64, 64), 'float32'); x[...] = 1; print(k.task_class(x, x, x, x).mean())"
    alone = subprocess.run(
        [sys.executable, "-c", use], cwd=tmp_path / "out", capture_output=True, text=True, check=False
    )
    assert alone.stdout.strip() == "4.0", alone.stderr  # no slow path: nothing overwrote an address
    empty = "import klab_class as k, numpy as np; z = np.zeros((64, 0), 'f4'); print(k.task_class(z, z, z, z).shape)"
    alone = subprocess.run(
        [sys.executable, "-c", empty], cwd=tmp_path / "out", capture_output=True, text=True, check=False
    )
    assert alone.stdout.strip() == "(64, 0)", alone.stderr


@pytest.mark.heavy(of="export")
def test_what_nobody_accepted_is_refused_or_says_so(lab: Command, certified: Path, tmp_path: Path) -> None:
    other = tmp_path / "certificates" / "other.json"
    run = certified.parents[1]
    trial = next(c["trial"] for c in bodies(run, "confirmation") if c["timing"] is not None)
    assert lab("certify", run, trial, "--out", other).code == 0
    out = tmp_path / "out"
    lab("export", other, "--as", "module", "--out", out, "--run", run).failed(2, "not promoted", "unreviewed")
    assert not out.exists()
    done = lab("export", other, "--as", "module", "--out", out, "--run", run, "--unreviewed")
    assert "UNREVIEWED" in done.out
    assert "UNREVIEWED" in (out / "README.md").read_text()
    lab("review", "reject", other, "--reason", "wrong shape")
    lab("export", other, "--as", "c", "--out", tmp_path / "no", "--run", run, "--unreviewed").failed(
        2, "rejected in review"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["certificates", "out"]


@pytest.mark.heavy(of="export")
def test_bad_input_is_refused_and_leaves_nothing(
    lab: Command, certified: Path, recorded: Recorded, tmp_path: Path
) -> None:
    lab("export", certified, "--as", "wheel", "--out", tmp_path / "out").failed(2, "no form 'wheel'")
    lab("export", certified, "--as", "module", "--out", certified.parent).failed(2, "exists already")
    lab("export", certified, "--as", "module", "--out", tmp_path / "out", "--run", recorded.folder).failed(
        2, "the certificate is of run"
    )
    assert list(tmp_path.iterdir()) == []
