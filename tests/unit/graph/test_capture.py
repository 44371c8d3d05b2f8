"""What a capture gives, and each thing that cannot be a task, by its words."""

from __future__ import annotations

import re
import socket
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.core.errors import TaskRefused, UsageError  # noqa: E402
from kernellab.graph.capture import LIMITS, Capturer, parse  # noqa: E402
from kernellab.graph.folder import settings  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord  # noqa: E402
from kernellab.graph.source import Request  # noqa: E402
from kernellab.sandbox.tiers import survey  # noqa: E402
from kernellab.tasks.modules.importing import Importer  # noqa: E402

_HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
_INPUTS = "def get_inputs():\n    return [torch.randn(4, 8)]\n"


class Files:
    """Writes files and captures them through one zygote."""

    def __init__(self, folder: Path, capturer: Capturer) -> None:
        self._folder, self.capturer = folder, capturer

    def capture(self, body: str, name: str = "", eval_mode: bool = False, inputs: str = _INPUTS) -> GraphRecord:
        return self.capturer.capture(Request(str(self._written(body, inputs)), name, eval_mode=eval_mode))

    def _written(self, body: str, inputs: str) -> Path:
        path = self._folder / "own.py"
        path.write_text(_HEAD + textwrap.dedent(body) + "\n" + inputs)
        return path


@pytest.fixture(scope="module")
def files(importer: Importer, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("sources"), importer.capturer)


def module(forward: str, init: str = "pass") -> str:
    return (
        f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x):\n        {forward}\n"
    )


def refused(files: Files, body: str, **options: object) -> TaskRefused:
    with pytest.raises(TaskRefused) as caught:
        files.capture(body, **options)  # type: ignore[arg-type]
    assert caught.value.fix
    return caught.value


def test_weights_are_inputs_and_sizes_are_symbols(files: Files) -> None:
    record = files.capture(module("return self.layer(x).relu()", "self.layer = nn.Linear(8, 3)"))
    assert [(i.name, i.role, i.source) for i in record.inputs] == [
        ("layer_weight", "weight", "layer.weight"), ("layer_bias", "weight", "layer.bias"), ("x", "input", ""),
    ]  # fmt: skip
    assert record.inputs[2].type.extents == ("d0", 8)
    assert record.outputs[0].type.extents == ("d0", 3)
    assert record.example == {"d0": 4}
    assert record.nodes[-1].op == "aten.relu.default"
    assert record.nodes[-1].line == "own.py:9"
    assert record.inputs[2].seen is not None


def test_a_mask_is_seen_with_what_it_hides(files: Files) -> None:
    text = module("return (x + self.mask).softmax(-1)", "self.register_buffer('mask', torch.zeros(4, 8))")
    held = "self.mask[:, 6:] = -float('inf'); self.mask[1, 0] = 2.0"
    record = files.capture(text.replace("torch.zeros(4, 8))", f"torch.zeros(4, 8)); {held}"))
    (mask,) = [i for i in record.inputs if i.role == "buffer"]
    assert mask.seen is not None
    assert (mask.seen.low, mask.seen.high, mask.seen.hidden) == (0.0, 2.0, 0.25)
    assert mask.seen.zeros == 23 / 24


def test_a_function_is_captured_like_a_module(files: Files) -> None:
    record = files.capture("def scaled(x):\n    return x * 2\n", "scaled")
    assert record.name == "scaled"
    assert [n.op for n in record.nodes] == ["aten.mul.Tensor"]


def test_sixteen_gigabytes_of_input_cost_nothing(files: Files) -> None:
    inputs = "def get_inputs():\n    return [torch.rand(65536, 65536)]\n"
    record = files.capture(module("return x.sum(1)"), inputs=inputs)
    assert record.example == {"d0": 65536, "d1": 65536}
    assert record.inputs[0].seen is None


def test_a_module_that_looks_at_its_weights_is_captured_with_real_tensors(files: Files) -> None:
    record = files.capture(module("return x * self.f", "self.f = float(torch.ones(3).sum())"))
    assert record.nodes[0].args[1] == 3.0


def test_small_constants_are_in_the_record_and_large_ones_are_inputs(files: Files) -> None:
    record = files.capture(module("return x * torch.tensor([1.0, 2.0] * 4) + self.t", "self.t = torch.ones(100, 1, 8)"))
    assert record.constants[0].values == (1.0, 2.0) * 4
    assert [(i.role, i.type.extents) for i in record.inputs] == [("constant", (100, 1, 8)), ("input", ("d0", 8))]


def test_numbers_among_the_inputs_are_fixed(files: Files) -> None:
    inputs = "def get_inputs():\n    return [torch.randn(4, 8), 3.5]\n"
    record = files.capture("def scaled(x, factor):\n    return x * factor\n", "scaled", inputs=inputs)
    assert record.fixed == {"factor": 3.5}


def test_a_gpu_that_inputs_ask_for_is_not_needed(files: Files) -> None:
    inputs = "def get_inputs():\n    return [torch.rand(4, 8, device='cuda', dtype=torch.float16), torch.rand(4, 8).cuda() * 2]\n"
    body = "class Model(nn.Module):\n    def forward(self, x, y):\n        return x + y\n"
    record = files.capture(body, inputs=inputs)
    assert [i.type.dtype for i in record.inputs] == ["float16", "float32"]
    assert [n.op for n in record.nodes][-1] == "aten.add.Tensor"


@pytest.mark.heavy
def test_evaluation_mode_on_request(files: Files) -> None:
    body = module("return self.layer(x)", "self.layer = nn.Sequential(nn.BatchNorm1d(8), nn.Dropout(0.5))")
    record = files.capture(body, eval_mode=True)
    assert record.nodes[0].op == "aten._native_batch_norm_legit_no_training.default"


def test_what_it_prints_is_kept_apart(files: Files, capfd: pytest.CaptureFixture[str]) -> None:
    files.capture("print('here')\n" + module("print('there'); return x + 1"))
    assert capfd.readouterr().out == ""


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("return F.dropout(x, 0.5)", r"own.py:9: aten\.\w*(dropout|bernoulli|rand)\S*: it draws random numbers"),
        ("return x + torch.rand_like(x)", "it draws random numbers"),
        ("x += 1; return x * 2", "it writes to its input x"),
        ("return x[x > 0] * 2", "own.py:9: .*depends on the data"),
        ("return x * 2 if x.sum() > 0 else x", "own.py:9: .*depends on the data"),
        ("return x * float(x.sum())", "depends on the data|reads a number out of a tensor"),
        ("return x", "output 0 is the input x itself or a view of it"),
        ("return x.T[:3]", "output 0 is the input x itself or a view of it"),
        ("return x + 1, x.view(-1)", "output 1 is the input x itself"),
        ("return 3", "output 0 is no tensor"),
        ("return torch.fft.fft(x)", "complex"),
        ("return x.view(torch.int32)", "it reads the bits of a number as another type"),
        ("raise ValueError('not today')", "own.py:9: ValueError: not today"),
        ("return x.cuda() + 1", "it needs a GPU to be captured"),
        ("return x @ x", "own.py:9: .*"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_task_is_refused(files: Files, forward: str, words: str) -> None:
    what = refused(files, module(forward)).what
    assert re.search(words, what), what


@pytest.mark.parametrize(
    ("forward", "cause"),
    [
        ("return F.dropout(x, 0.5)", "random"),
        ("raise ValueError('not today')", "broken"),
        ("import not_there", "broken"),
        ("x += 1; return x", ""),
    ],
)
def test_a_refusal_says_whether_the_code_is_broken_or_random(files: Files, forward: str, cause: str) -> None:
    assert refused(files, module(forward)).cause == cause


def test_statistics_written_in_training_mode_are_refused(files: Files) -> None:
    error = refused(files, module("return self.n(x)", "self.n = nn.BatchNorm1d(8)"))
    assert "in training mode writes its running statistics" in error.what
    assert error.cause == "training"
    assert ".eval()" in error.fix


def test_a_written_buffer_is_refused(files: Files) -> None:
    body = module("self.n.add_(1); return x + self.n", "self.register_buffer('n', torch.zeros(1))")
    assert "it writes to its buffer n" in refused(files, body).what


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ("[]", "there is no tensor among the inputs"),
        ("[[torch.ones(2)]]", "input 0 is a list, not a tensor"),
        ("[torch.ones(2, dtype=torch.complex64)]", "input 0 is complex"),
        ("[torch.ones(0, 8)]", "input 0 has no elements"),
        ("3", "get_inputs() returns a int"),
        ("[torch.ones(2, device='meta'), torch.ones(2, device='cpu')]", "on several devices: cpu, meta"),
        ("[torch.ones(2, device='cuda') * 2, torch.ones(2)]", "on several devices: "),
        ("[torch.quantize_per_tensor(torch.ones(2, device='cpu'), 0.1, 0, torch.qint8)]", "quantised"),
        ("[torch.ones(2, 8).to_sparse()]", "sparse"),
    ],
)
def test_inputs_that_are_no_plain_tensors_are_refused(files: Files, inputs: str, words: str) -> None:
    body = "def first(*x):\n    return x[0] * 2\n"
    error = refused(files, body, name="first", inputs=f"def get_inputs():\n    return {inputs}\n")
    assert words in error.what, error.what


def test_two_modules_and_no_name(files: Files) -> None:
    error = refused(files, "class A(nn.Module):\n    pass\nclass B(nn.Module):\n    pass\n")
    assert "several modules: A, B" in error.what
    assert "FILE.py:B" in error.fix


def test_no_module_and_nothing_of_that_name(files: Files) -> None:
    assert "has no torch.nn.Module" in refused(files, "def f(x):\n    return x\n").what
    error = refused(files, "def f(x):\n    return x\n", name="g")
    assert error.what == "own.py has no 'g'", "the file is named once"
    assert error.fix == "it has f"
    assert "is no class and no function" in refused(files, "N = 3\n", name="N").what


def test_no_inputs(files: Files) -> None:
    assert "has no get_inputs()" in refused(files, module("return x"), inputs="").what


def test_a_file_that_does_not_import(files: Files) -> None:
    assert "own.py:4: ModuleNotFoundError: No module named 'nowhere'" in refused(files, "import nowhere\n").what
    assert "own.py:4: SyntaxError" in refused(files, "def f(:\n").what
    assert "SystemExit" in refused(files, "raise SystemExit(3)\n").what


def test_a_file_that_ends_its_process(files: Files) -> None:
    assert "ended with exit code 7 and no graph" in refused(files, "import os\nos._exit(7)\n").what


def test_there_is_no_network(files: Files) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = f"import socket\nsocket.socket().connect(('127.0.0.1', {server.getsockname()[1]}))\n"
        assert "no network here" in refused(files, body + "def f(x):\n    return x + 1\n", name="f").what


@pytest.mark.heavy
def test_a_module_that_never_ends_is_killed(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "endless.py"
    path.write_text("while True:\n    pass\n")
    with pytest.raises(TaskRefused, match=r"endless.py: it did not end within 1 s"):
        files.capturer.capture(parse(str(path)), replace(LIMITS, wall_s=1.0))


def test_a_module_that_takes_all_memory_is_refused(files: Files) -> None:
    error = refused(files, "def f(x):\n    return x\ny = torch.ones(1 << 36, device='cpu')\n", name="f")
    assert "it needs too much memory" in error.what


def test_a_folder_with_settings(files: Files, tmp_path: Path) -> None:
    (tmp_path / "func_forward.py").write_text(
        _HEAD + "class Model(nn.Module):\n    def __init__(self, width, kind='a'):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.ones(width))\n    def forward(self, x):\n        return x * self.weight\n"
        "def get_inputs(rows=2, width=3):\n    return [torch.randn(rows, width)]\n"
    )
    (tmp_path / "config_forward.json").write_text(
        '{"single_input_configs": [{"rows": 5}], "single_shared_configs": [{"width": 7}], '
        '"single_init_configs": [{"kind": "b", "unknown": 1}], "multi_input_configs": [{"rows": 2}, {"rows": 3}]}'
    )
    assert len(settings(str(tmp_path))) == 3
    record = files.capturer.capture(settings(str(tmp_path))[0])
    assert record.inputs[0].type.extents == (7,)
    assert record.example == {"d0": 5}


@pytest.mark.parametrize("locator", ["nothing.txt", "nowhere.py:Model", "nowhere.py"])
def test_a_locator_that_names_no_file(locator: str) -> None:
    with pytest.raises(UsageError):
        parse(locator)


@pytest.mark.heavy
def test_a_live_module_that_never_ends_is_killed() -> None:
    def endless(x: torch.Tensor) -> torch.Tensor:
        while True:
            pass

    with pytest.raises(TaskRefused, match="endless: it did not end within 1 s"):
        capture_object(endless, (torch.ones(2),), wall_s=1.0)


def test_a_live_module_is_left_as_it_was() -> None:
    layer = torch.nn.BatchNorm1d(8)
    with pytest.raises(TaskRefused, match="running statistics"):
        capture_object(layer, (torch.ones(4, 8),))
    assert float(layer.running_mean.sum()) == 0
    assert layer.training


def test_a_live_module_is_captured_by_a_program_that_uses_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter asks every GPU for its state, and a forked process has none (seen: "Cannot re-initialize CUDA")."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert capture_object(torch.nn.Linear(4, 4).eval(), (torch.ones(2, 4),)).nodes


def test_a_capture_is_confined_as_strongly_as_this_machine_can(files: Files) -> None:
    """What torch imports must not start a thread: such a process gets no namespaces, and a weaker tier was taken instead."""
    strongest = next(tier for tier, answer in survey().items() if answer == "available")
    assert files.capturer.tier == strongest


def test_what_is_left_out_of_the_first_imports_can_be_imported_by_the_users_file(files: Files) -> None:
    found = files.capture("import torch.distributed.fsdp\n" + module("return x * 2"))
    assert [node.op for node in found.nodes] == ["aten.mul.Tensor"]


def test_weights_of_numbered_layers_have_names_that_a_kernel_can_use() -> None:
    layers = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    found = capture_object(layers, (torch.rand(2, 4),), "layers")
    assert [(i.name, i.source) for i in found.inputs if i.role == "weight"] == [
        ("layer_0_weight", "0.weight"), ("layer_0_bias", "0.bias"),
    ]  # fmt: skip


_FORGED = """
import sys

job = sys.modules["kernellab.graph.capture_job"]
real = job.capture_subject


class Forged:
    def __init__(self, data):
        self.data = data

    def model_dump(self, mode):
        {change}
        return self.data


job.capture_subject = lambda *given, **named: Forged(real(*given, **named).model_dump(mode="json"))
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    "change",
    [
        "self.data['nodes'][0]['kwargs'] = {'a = print(), b': 1}",
        "self.data['nodes'][0] |= {'op': 'aten.from_file.default', 'args': ['/tmp/made', True, 4]}",
        "self.data['nodes'][0]['name'] = 'a = print()'",
        "self.data['outputs'][0]['type']['dtype'] = 'float16'",
    ],
)
def test_a_reply_made_by_hand_names_nothing_that_does_more_than_compute(files: Files, change: str) -> None:
    forged = _FORGED.replace("{change}", change)
    said = refused(files, module("return torch.softmax(x, 1)") + forged)
    assert "no graph" in said.what


@pytest.mark.parametrize("function", [torch.mm, torch.matmul], ids=["mm", "matmul"])
def test_functions_of_torch_that_do_not_say_what_they_take(function: Any) -> None:
    record = capture_object(function, (torch.rand(5, 9), torch.rand(9, 17)))
    assert [i.type.extents for i in record.inputs] == [("d0", "d1"), ("d1", "d2")]
