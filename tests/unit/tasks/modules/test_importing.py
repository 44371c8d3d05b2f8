"""Importing a file: the user's code in the sandbox, the graph held against the module itself, refusals in one line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.unit.tasks.modules import graphs

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from kernellab.core.errors import TaskRefused  # noqa: E402
from kernellab.tasks.modules.importing import Importer, Wishes, task_name  # noqa: E402
from kernellab.tasks.modules.record import ModuleRecord  # noqa: E402
from kernellab.tasks.modules.task import module_task  # noqa: E402
from kernellab.tasks.suites import find_problem  # noqa: E402
from kernellab.verdict.controls import examine  # noqa: E402

_HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
_INPUTS = "def get_inputs():\n    return [torch.randn(4, 8)]\n"


class Files:
    def __init__(self, folder: Path, importer: Importer) -> None:
        self.folder, self._importer = folder, importer

    def take(self, body: str, inputs: str = _INPUTS, wishes: Wishes | None = None, name: str = "own") -> ModuleRecord:
        path = self.folder / f"{name}.py"
        path.write_text(_HEAD + textwrap.dedent(body) + "\n" + inputs)
        problem = find_problem(str(path))
        assert problem is not None
        return self._importer.import_problem(problem, wishes or Wishes())


@pytest.fixture(scope="module")
def files(importer: Importer, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("modules"), importer)


def module(forward: str, init: str = "pass") -> str:
    return (
        f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x):\n        {forward}\n"
    )


@pytest.mark.heavy
def test_a_module_becomes_a_task_that_proves_its_judge(files: Files) -> None:
    body = module(
        "return F.gelu(self.norm(self.layer(x)))", "self.layer = nn.Linear(8, 6); self.norm = nn.LayerNorm(6)"
    )
    task = module_task(files.take(body))
    assert task.name == "own"
    assert [b.name for b in task.inputs if b.weight] == ["layer_weight", "layer_bias", "norm_weight", "norm_bias"]
    assert task.tune == ({"d0": 4},)
    assert examine(task).controls == 11


@pytest.mark.heavy
def test_evaluation_mode_is_asked_for(files: Files) -> None:
    body = module("return self.norm(x)", "self.norm = nn.BatchNorm1d(8)")
    with pytest.raises(TaskRefused, match="running statistics") as caught:
        files.take(body)
    assert ".eval()" in caught.value.fix
    taken = files.take(body, wishes=Wishes(eval_mode=True))
    assert [i.name for i in taken.graph.inputs if i.role == "buffer"] == ["norm_running_mean", "norm_running_var"]


def test_a_module_that_does_another_thing_in_another_type_is_refused(files: Files) -> None:
    body = module("return x.exp() if x.dtype == torch.float32 else x.sin()")
    with pytest.raises(TaskRefused, match="the module and its captured graph disagree on 'out'"):
        files.take(body)


@pytest.mark.heavy
def test_single_numbers_masks_and_labels_are_inputs(files: Files) -> None:
    body = """
        class Model(nn.Module):
            def forward(self, x, mask, factor, labels):
                picked = x.masked_fill(mask, -1e4).log_softmax(1)
                return F.nll_loss(picked * factor, labels)
        """
    inputs = (
        "def get_inputs():\n    return [torch.randn(6, 9), torch.rand(6, 9) > 0.8, torch.tensor(2.0), "
        "torch.randint(0, 9, (6,))]\n"
    )
    task = module_task(files.take(body, inputs))
    assert [(b.name, b.dtype) for b in task.inputs] == [
        ("x", "float32"), ("mask", "uint8"), ("factor", "float32"), ("labels", "int64"),
    ]  # fmt: skip
    examine(task)


@pytest.mark.heavy
def test_an_operator_that_takes_numbers_of_a_range_alone_is_judged_by_those(files: Files) -> None:
    body = """
        class Model(nn.Module):
            def forward(self, p, t):
                return F.binary_cross_entropy(p, t)
        """
    inputs = "def get_inputs():\n    return [torch.rand(16, 32), (torch.rand(16, 32) > 0.5).float()]\n"
    task = module_task(files.take(body, inputs))
    assert list(task.distributions) == [
        "own", "gaps", "faint", "exceptions-inside", "rows-unsigned", "slabs-unsigned", "exceptions-inside:p", "exceptions-inside:t",
    ]  # fmt: skip
    assert examine(task).controls == 11


@pytest.mark.heavy
def test_sixteen_bits(files: Files) -> None:
    inputs = "def get_inputs():\n    return [torch.randn(4, 8, dtype=torch.bfloat16)]\n"
    task = module_task(files.take(module("return (x.float() * 2).tanh().to(x.dtype)"), inputs))
    assert task.outputs[0].dtype == "bfloat16"
    examine(task)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("return x + torch.rand_like(x)", r"own.py:9: aten.rand_like.default: it draws random numbers"),
        ("x += 1\n        return x.exp()", "it writes to its input x"),
        ("return x[x > 0]", "own.py:9"),
        ("return x.view(-1)", "output 0 is the input x itself or a view of it"),
        ("return x.exp() if x.sum() > 0 else x", "depends on the data"),
        ("raise RuntimeError('not today')", "own.py:9: RuntimeError: not today"),
    ],
)
def test_what_cannot_be_a_task_is_one_line_with_what_to_do(files: Files, forward: str, words: str) -> None:
    with pytest.raises(TaskRefused, match=words) as caught:
        files.take(module(forward))
    assert "\n" not in caught.value.what
    assert caught.value.fix


@pytest.mark.heavy
def test_what_a_large_example_would_hold_is_looked_up_at_a_smaller_size(files: Files) -> None:
    """Numbers around nothing would have no roots: the module needs what its example has."""
    record = files.take(
        module("return torch.sqrt(x - 2.5)"), "N = 150000000\ndef get_inputs():\n    return [torch.rand(N) + 3]\n"
    )
    (x,) = record.graph.inputs
    assert x.seen is not None
    assert 3 <= x.seen.low < x.seen.high <= 4
    assert x.type.shape({"d0": 150_000_000}) == (150_000_000,)
    assert record.device_shapes.tune == ({"d0": 150_000_000},)


def test_a_large_example_that_cannot_be_made_smaller_is_no_guess() -> None:
    with pytest.raises(TaskRefused, match="too large to be looked at") as caught:
        graphs.module_record(graphs.roots(seen=None))
    assert "smaller example" in caught.value.fix
    assert graphs.module_record(graphs.roots()).distributions[0] == "own"


def test_a_built_in_name_does_not_bring_its_kernels() -> None:
    assert task_name("softmax") == "softmax-module"
    assert task_name("12_Mat mul.v2") == "12_Mat_mul_v2"
    assert task_name("...") == "module"


def test_scores_that_are_left_out_are_endless_under_every_distribution(files: Files) -> None:
    """Seen: logits outside the five largest, masked with minus infinity, were refused: nothing but the module's own inputs
    was left to judge them by."""
    body = module("return x.masked_fill(x < torch.topk(x, 3, -1)[0][..., -1:], float('-inf'))")
    task = module_task(files.take(body, name="scores"))
    assert {"own", "normal", "planted", "sparse", "exceptions"} <= {*task.distributions}
    assert examine(task).controls > 8


def test_what_is_not_endless_for_the_modules_own_inputs_stays_finite(files: Files) -> None:
    task = module_task(files.take(module("return torch.exp(x)"), name="powers"))
    assert "wide" in task.distributions
    assert "heavy" not in task.distributions


def test_types_that_the_code_does_not_name_are_wide_for_the_witness(files: Files) -> None:
    """Seen: sums by torch.zeros(n) were refused, since float64 cannot be added to float32."""
    body = module(
        "return torch.zeros(4, 8).index_add(0, torch.tensor([1, 0, 1, 3]), x[:4]) + torch.ones(1).float() / 3"
    )
    assert [
        o.type.dtype
        for o in files.take(body, "def get_inputs(): return [torch.randn(4, 8)]", name="sums").graph.outputs
    ] == ["float32"]


def test_a_cache_is_written_at_places_and_by_slices(files: Files) -> None:
    body = """
        class Model(nn.Module):
            def forward(self, cache, pos, k):
                return cache.index_copy(0, pos, k), torch.slice_scatter(cache, k, 0, 0, k.shape[0])
    """
    inputs = "def get_inputs():\n    return [torch.randn(64, 8), torch.randperm(64)[:6], torch.randn(6, 8)]\n"
    assert examine(module_task(files.take(body, inputs, name="cache"))).controls > 8


def test_what_raises_by_itself_is_refused_in_words(files: Files) -> None:
    with pytest.raises(TaskRefused, match="raises an error where a matrix cannot be inverted"):
        files.take(module("return torch.linalg.inv(x)"), "def get_inputs(): return [torch.eye(4)]", name="inverse")
