"""Solutions of KernelBench's form: the pieces that their template is filled with, and what is refused."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.certify.export import export, take_order
from kernellab.certify.interface import Interface
from kernellab.certify.issue import certify
from kernellab.certify.problem_section import section_of_module
from kernellab.certify.solution import literal, refuse_clashes, solution_facts, without_head
from kernellab.certify.write_package import package_files
from kernellab.core.errors import UsageError
from kernellab.graph.source import Request
from kernellab.run.driver import present
from kernellab.tasks.modules.importing import Importer, Wishes
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.suites.base import Problem

pytest.importorskip("torch")
_FIXED = """import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keep", torch.tensor([True, False, True]))
        self.register_buffer("much", torch.tensor(2.0))

    def forward(self, x):
        return (x.reshape(2, 3) * self.much * self.keep).sum() > 0

def get_inputs():
    return [torch.randn(6)]
"""


_ON_A_CPU = """
import json, sys, torch
sys.path.insert(0, sys.argv[1])
sys.modules["kernellab"] = None
import model_new
shapes, dtypes = json.loads(sys.argv[2])
given = [torch.rand(s).to(getattr(torch, d)) for s, d in zip(shapes, dtypes)]
wanted, found = model_new._Problem()(*given), model_new.ModelNew()(*given)
assert all(map(torch.equal, *([x] if isinstance(x, torch.Tensor) else x for x in (wanted, found))))
"""


def own_test(folder: Path, cache: Path) -> str:
    test = next(folder.glob("test_*.py"))
    done = subprocess.run([sys.executable, str(test)], capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_task_by_hand_is_a_solution_too(promoted: Path, tmp_path: Path) -> None:
    done = export([promoted], "kernelbench", tmp_path / "out")
    assert done.files == ("README.md", "certificate-0.json", "model_new.py", "test_klab_softmax.py")
    text = (tmp_path / "out" / "model_new.py").read_text()
    assert "kernellab" not in text
    assert "UNREVIEWED" not in text
    own_test(tmp_path / "out", tmp_path)


@pytest.mark.heavy
@pytest.mark.backend_c
def test_an_unreviewed_one_says_so(promoted: Path) -> None:
    order = replace(take_order([promoted]), reviewed=False)
    assert "# UNREVIEWED" in package_files(order, "kernelbench")[1]["model_new.py"]


@pytest.mark.backend_c
def test_one_certificate_at_a_time(promoted: Path) -> None:
    order = take_order([promoted])
    with pytest.raises(UsageError, match="has one shape"):
        package_files(replace(order, variants=(order.variants[0], order.variants[0])), "kernelbench")


@pytest.mark.backend_c
def test_a_problem_cannot_be_given_for_a_task_by_hand(promoted: Path, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(_FIXED)
    with pytest.raises(UsageError, match="'softmax' is no PyTorch module"):
        export([promoted], "kernelbench", tmp_path / "out", problem=f"{tmp_path / 'net.py'}:Model")


@pytest.mark.heavy
@pytest.mark.parametrize(("run", "trial"), [("softmax-bf16-quick", 5), ("stencil5x5", 129), ("particle-filter", 64)])
def test_a_gpu_kernel_is_a_solution_that_answers_on_a_cpu_by_its_expression(
    run: str, trial: int, signed_again: Callable[[str], Path], tmp_path: Path
) -> None:
    _, path = certify(signed_again(run), trial)
    export([path], "kernelbench", tmp_path / "out", unreviewed=True)
    text = (tmp_path / "out" / "model_new.py").read_text()
    assert text.count("\ndef launch(") == 1
    assert "from ._launch" not in text
    if present():
        assert "computed by the kernel" in own_test(tmp_path / "out", tmp_path)
    task = take_order([path], unreviewed=True).task
    shapes = [list(b.shape(task.edge[0])) for b in task.inputs]
    given = json.dumps([shapes, [b.dtype for b in task.inputs]])
    done = subprocess.run(
        [sys.executable, "-c", _ON_A_CPU, str(tmp_path / "out"), given], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.heavy
def test_single_numbers_booleans_and_sizes_that_cannot_vary(importer: Importer, promoted: Path) -> None:
    problem = Problem(Request("/nowhere/net.py", "Model", text=_FIXED), "net")
    record = importer.import_problem(problem, Wishes(eval_mode=True))
    order = replace(take_order([promoted]), task=module_task(record), module=record)
    facts = solution_facts(order, Interface(order.task), section_of_module(record))
    assert facts["state"] == "(attrgetter('keep'), attrgetter('much'), None,)"
    assert facts["types"] == "((torch.bool, 1), (torch.float32, 0), (torch.float32, 1),)"
    assert facts["buffers"] == "tensors[0].view(torch.uint8), tensors[1].reshape(1), tensors[2],"
    assert facts["results"] == "[outputs[0].view(torch.bool).reshape(())]"
    assert (facts["dims_line"], facts["conditions"], facts["eval_only"]) == ("only = 1", "True", True)


def test_a_name_that_two_parts_define_is_refused() -> None:
    refuse_clashes(problem="import torch\nn = 3", kernel="import torch\nSOURCE = ''")
    for problem in ("n = 3", "def n():\n    pass", "class n:\n    pass", "(a, n) = 1, 2", "n: int = 3"):
        with pytest.raises(UsageError, match="'n' is defined by the problem and by the kernel"):
            refuse_clashes(problem=problem, kernel="n = 4")


@pytest.mark.parametrize("text", ["int x; // \\n\n", 'char *a = """;\n', 'ends with a "', "ends with \\"])
def test_a_text_stays_what_it_is_as_a_constant(text: str) -> None:
    assert ast.literal_eval(literal(text)).lstrip("\n") == text


def test_a_head_goes_and_the_rest_stays() -> None:
    text = '"""Words\nof it."""\n\nfrom __future__ import annotations\n\nimport os\n\nx = """kept"""\n'
    assert without_head(text) == 'import os\n\nx = """kept"""\n'
