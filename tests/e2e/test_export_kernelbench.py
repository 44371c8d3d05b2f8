"""A certified winner as KernelBench's ModelNew: loaded as its evaluator loads one, and judged by our own judge."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.captured import captured

from kernellab.tasks.modules.importing import Importer

from .command import Klab
from .test_export import promoted

pytest.importorskip("torch")
pytestmark = pytest.mark.backend_c

_PROBLEM = '''"""A layer with weights and a buffer; super() names its class, as KernelBench's problems do."""
from __future__ import annotations

import torch
import torch.nn as nn


class Model(nn.Module):
    """Model of a scaled sum."""

    def __init__(self, n: int) -> None:
        super(Model, self).__init__()
        self.inner = nn.ModuleList([nn.Linear(n, 1, bias=False)])
        self.gain = nn.Parameter(torch.rand(n))
        self.register_buffer("shift", torch.ones(n))

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        return (x * self.gain + self.shift) * factor + self.inner[0].weight


batch_size, n = 64, 32


def get_inputs():
    return [torch.randn(batch_size, n), 2.0]


def get_init_inputs():
    return [n]
'''
_KERNEL = '''
SOURCE = r"""
void scaled(const float *gain, const float *shift, const float *weight, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) for (long j = 0; j < n; j++)
        y[i * n + j] = (x[i * n + j] * gain[j] + shift[j]) * 2.0f + weight[j];
}
"""

def launch(gain, inner_0_weight, shift, x, out):
    kernel("scaled")(gain, shift, inner_0_weight, x, out, *x.shape)
'''
_EVALUATOR = """
import sys, torch, warnings
sys.modules["kernellab"] = None
warnings.simplefilter("error")
problem, solution = (open(path).read() for path in sys.argv[1:])
context = {}
exec(compile(problem, "problem.py", "exec"), context)
Model, get_inputs, get_init_inputs = (context[name] for name in ("Model", "get_inputs", "get_init_inputs"))
torch.manual_seed(42)
init = get_init_inputs()
with torch.no_grad():
    torch.manual_seed(42)
    model = Model(*init)
    exec(compile(solution, "solution.py", "exec"), context)
    torch.manual_seed(42)
    new = context["ModelNew"](*init)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), new.state_dict().values(), strict=True))
    assert list(model.state_dict()) == list(new.state_dict())
    run, calls = context["run"], []
    context["run"] = lambda *given: calls.append(1) or run(*given)
    for seed in range(5):
        torch.manual_seed(seed)
        given = get_inputs()
        assert torch.allclose(model(*given), new(*given), 1e-4, 1e-4)
    assert len(calls) == 5, calls
    x = given[0]
    others = [(x[:, :7], 2.0), (x, 3.0), (x.double(), 2.0), (torch.randn(4, 3, 32), 2.0)]
    for other in others[1:]:
        assert torch.equal(model(*other), new(*other))
    assert torch.equal(model(x, factor=2.0), new(x, factor=2.0))
    assert len(calls) == 5, calls
    strided = torch.randn(32, 64).t()
    assert torch.allclose(model(strided, 2.0), new(strided, 2.0), 1e-4, 1e-4)
    assert len(calls) == 6, calls
assert new(*given).requires_grad
assert len(calls) == 6, calls
print("evaluated")
"""


def written(folder: Path, **files: str) -> list[Path]:
    paths = [folder / f"{name}.py" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    return paths


@pytest.fixture(scope="module")
def exported(torch_klab: Klab, importer: Importer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The problem's file and the exported folder."""
    folder = tmp_path_factory.mktemp("kernelbench")
    problem, kernel = written(folder, net=_PROBLEM, good=_KERNEL)
    run = folder / "run"
    record = captured(importer, f"{problem}:Model", folder)
    done = torch_klab("run", record, "--candidate", kernel, "--effort", "quick", "--trials", 1, "--device", "cpu",
                "--out", run, "--json")  # fmt: skip
    assert done.code in (0, 3, 7), done.err
    certificate = promoted(torch_klab, run)
    done = torch_klab("export", certificate, "--as", "kernelbench", "--out", folder / "out", "--json")
    assert done.code == 0, done.err
    assert done.json["files"] == ["README.md", "certificate-0.json", "model_new.py", "test_klab_net.py"]
    torch_klab("export", certificate, "--as", "module", "--out", folder / "no").failed(2, "use --as kernelbench")
    return problem, folder / "out"


def alone(folder: Path, *arguments: object) -> str:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False,
                          env=environment, cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.heavy(of="KernelBench")
def test_it_runs_as_kernelbench_runs_one(exported: tuple[Path, Path], tmp_path: Path) -> None:
    problem, folder = exported
    assert "evaluated" in alone(tmp_path, "-c", _EVALUATOR, problem, folder / "model_new.py")


@pytest.mark.heavy(of="KernelBench")
def test_its_own_test_passes_and_says_who_computed(exported: tuple[Path, Path], tmp_path: Path) -> None:
    said = alone(tmp_path, exported[1] / "test_klab_net.py")
    assert "computed by the kernel" in said


@pytest.mark.heavy(of="KernelBench")
def test_our_own_judge_passes_it(torch_klab: Klab, exported: tuple[Path, Path]) -> None:
    problem, folder = exported
    done = torch_klab("judge", folder / "model_new.py", "--problem", f"{problem}:Model", "--json")
    assert done.code == 0, done.out + done.err
    assert done.json["status"] == "passed"
    (built,) = done.json["built"]["files"]
    assert built.startswith("cache/klab_net/")
    assert built.endswith(".so")  # what its runs load: there is no compiler in them
