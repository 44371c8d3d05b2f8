"""A PyTorch module from its file to an audited run; the file is gone by then."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.captured import captured

from kernellab.tasks.modules.importing import Importer

from .command import Klab

pytest.importorskip("torch")
pytestmark = pytest.mark.backend_c

_MODULE = """
import torch
print("what a file prints is nobody's business")

class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(n))

    def forward(self, x):
        return x * self.gain

def get_inputs():
    return [torch.randn(64, 32)]

def get_init_inputs():
    return [32]
"""
_KERNEL = '''
SOURCE = r"""
void scaled(const float *gain, const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) y[i * n + j] = x[i * n + j] * gain[j];
}
"""

def launch(gain, x, out):
    kernel("scaled")(gain, x, out, *x.shape)
'''


@pytest.mark.slow
def test_a_module_is_checked_verified_audited_and_replayed_without_its_file(torch_klab: Klab, tmp_path: Path) -> None:
    module, kernel, run = tmp_path / "net.py", tmp_path / "good.py", tmp_path / "run"
    module.write_text(_MODULE)
    kernel.write_text(_KERNEL)
    checked = torch_klab("check", f"{module}:Model", "--json")
    assert checked.code == 0, checked.err
    assert checked.json["status"] == "proved"
    assert checked.json["inputs"] == {"gain": "float32[32]", "x": "float32[d0, 32]"}
    done = torch_klab("verify", kernel, "--task", f"{module}:Model", "--device", "cpu", "--out", run, "--json")
    assert done.code == 0, done.err
    module.unlink()
    assert torch_klab("audit", run).code == 0
    again = torch_klab("replay", run, 0, "--json").json
    assert (again["same_machine_code"], again["status"] in ("verified", "busy")) == (True, True)
    edited = run / "task.json"
    edited.write_text(edited.read_text().replace('"low":2', '"low":3'))
    assert torch_klab("audit", run).code != 0


@pytest.mark.heavy
def test_a_module_gets_kernels_from_its_graph(torch_klab: Klab, tmp_path: Path) -> None:
    module, run = tmp_path / "net.py", tmp_path / "run"
    module.write_text(_MODULE)
    options = ("--device", "cpu", "--effort", "quick", "--trials", 2, "--out", run, "--json")
    done = torch_klab("run", f"{module}:Model", *options)
    assert done.json["status"] in ("better", "nothing-better", "busy"), done.err
    assert torch_klab("audit", run).code == 0
    assert "generated from its graph" in torch_klab("show", run, "--trial", 0, "--json").out


def test_a_module_for_which_none_can_be_generated_is_told_why(
    torch_klab: Klab, importer: Importer, tmp_path: Path
) -> None:
    module = tmp_path / "net.py"
    module.write_text(_MODULE.replace("return x * self.gain", "return torch.lgamma(x.abs() + 1) * self.gain"))
    record = captured(importer, f"{module}:Model", tmp_path)
    done = torch_klab("run", record, "--device", "cpu", "--out", tmp_path / "run", "--json")
    done.failed(2, "none can be generated: there is no rule for aten.lgamma", "--candidate FILE")
    assert not (tmp_path / "run").exists()


@pytest.mark.heavy
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["net.py:Other"], "net.py has no 'Other'"),
        (["absent.py:Model"], "there is no file absent.py"),
        (["softmax", "--eval"], "'softmax' is no PyTorch module"),
        (["net.py:Model", "--precision", "fp7"], "there is no precision 'fp7'"),
        (["net.py:Model", "--dtype", "bf16"], "a dtype cannot be asked of it"),
    ],
)
def test_a_check_that_cannot_work(torch_klab: Klab, tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "net.py").write_text(_MODULE)
    torch_klab("check", *arguments, "--json", cwd=tmp_path).failed(2, words)
