"""A machine without a GPU: what is for one is named and refused at once, the rest works, and runs made on one audit here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.targets import languages
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
from kernellab.propose.recipe import FOLDER, candidates_in
from kernellab.run.driver import present
from kernellab.tasks.builtin import TASKS

from .command import Klab
from .conftest import Recorded, bodies

pytestmark = pytest.mark.backend_c
without_gpu = pytest.mark.skipif(present(), reason="there is a GPU here")
TRITON = FOLDER / "triton" / "softmax_row.py"
CUDA = FOLDER / "cuda" / "softmax_warp_row.py"
C = FOLDER / "c" / "softmax_blocked.py"
H200 = Path(__file__).parents[2] / "runs" / "h200" / "softmax-bf16-quick"


@pytest.mark.sample(3)
@without_gpu
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "softmax", "--device", "cuda"], ["--device cuda needs an NVIDIA GPU, and none answers here", "leave --device out"]),
        (["verify", TRITON, "--task", "softmax", "--device", "cuda"], ["--device cuda needs an NVIDIA GPU", "klab build"]),
        (["bench", CUDA, "--task", "softmax", "--dtype", "f16", "--device", "cuda"], ["--device cuda needs", "klab build"]),
        (["verify", TRITON, "--task", "softmax"], ["softmax_row is for a GPU, and none answers here", "klab build", "--target sm_90"]),
        (["bench", CUDA, "--task", "softmax_f16"], ["softmax_warp_row is for a GPU", "nvidia-smi"]),
        (["run", "softmax", "--dtype", "bf16"], ["the built-in kernels of softmax_bf16 are for a GPU", "--candidate FILE", "--dtype f32"]),
        (["run", "particle_filter_f16"], ["the built-in kernels of particle_filter_f16 are for a GPU", "--dtype f32"]),
        (["run", "stencil3x3", "--dtype", "f16", "--candidate", TRITON], ["softmax_row is for a GPU, and none answers here"]),
    ],
    ids=lambda a: " ".join(map(str, a)).replace(str(FOLDER), "") if "--" in str(a) else None,
)  # fmt: skip
def test_what_needs_a_gpu_is_refused_at_once_with_a_way_on(
    klab: Klab, tmp_path: Path, arguments: list[object], words: list[str]
) -> None:
    done = klab(*arguments, "--out", tmp_path / "run", "--json").failed(5, *words)
    assert done.json["status"] == "error"
    assert not (tmp_path / "run").exists()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "softmax", "--dtype", "bf16", "--device", "cpu"], ["kernels of softmax_bf16 are for a GPU", "--dtype f32"]),
        (["verify", TRITON, "--task", "softmax", "--device", "cpu"], ["softmax_row is for a GPU, which --device cpu is not"]),
        (["verify", C, "--task", "softmax", "--device", "cuda"], ["softmax_blocked is for the processor", "leave --device out"]),
        (["run", "softmax", "--dtype", "int4"], ["there is no dtype 'int4'", "f32, bf16, f16"]),
        (["run", "softmax_f16", "--dtype", "bf16"], ["'softmax_f16' is not a bfloat16 task", "'softmax'"]),
        (["verify", C, "--task", "softmax", "--dtype", "double"], ["there is no dtype 'double'"]),
        (["run", "softmax", "--device", "tpu"], ["setting 'device'", "'cpu' or 'cuda'"]),
        (["verify", C, "--task", "softmax", "--sanitize"], ["--sanitize is for kernels on a GPU"]),
    ],
    ids=lambda a: " ".join(map(str, a)).replace(str(FOLDER), "") if "--" in str(a) else None,
)  # fmt: skip
def test_a_device_or_dtype_that_does_not_fit_is_a_usage_error(
    klab: Klab, tmp_path: Path, arguments: list[object], words: list[str]
) -> None:
    klab(*arguments, "--out", tmp_path / "run", "--json").failed(2, *words)
    assert not (tmp_path / "run").exists()


def test_a_dtype_cannot_be_asked_of_a_task_file(klab: Klab, files: Path, tmp_path: Path) -> None:
    done = klab("verify", files / "good.py", "--task", files / "cube.py", "--dtype", "bf16", "--out", tmp_path / "run")
    done.failed(2, "is a task file: a dtype cannot be asked of it")


@pytest.mark.heavy
@without_gpu
def test_a_gpu_kernel_among_others_is_noted_and_the_others_are_searched(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    done = klab(*search(tmp_path / "run", "good", trials=1), "--candidate", TRITON)
    assert done.code in (0, 3, 7), done.err
    assert "candidate softmax_row is unusable: is a kernel for --device cuda (triton), this run is on cpu" in done.out
    assert bodies(tmp_path / "run", "run")[0]["settings"]["device"] == "cpu"
    assert [n["candidate"] for n in bodies(tmp_path / "run", "note")] == ["softmax_row"]


@pytest.mark.slow
def test_a_short_dtype_is_judged_on_the_processor_with_a_kernel_of_ones_own(klab: Klab, tmp_path: Path) -> None:
    """The built-in kernels for bf16 are for a GPU; the task is not."""
    kernel = '''"""Row softmax in bfloat16: sums in float, rounds once."""
SOURCE = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>
static float wide(uint16_t b) { uint32_t u = (uint32_t)b << 16; float f; memcpy(&f, &u, 4); return f; }
static uint16_t narrow(float f) { uint32_t u; memcpy(&u, &f, 4); return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16); }
void rows(const uint16_t *x, uint16_t *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = fmaxf(top, wide(x[i * n + j]));
        for (long j = 0; j < n; j++) sum += expf(wide(x[i * n + j]) - top);
        for (long j = 0; j < n; j++) y[i * n + j] = narrow(expf(wide(x[i * n + j]) - top) / sum);
    }
}
"""
FLAGS = ["-O2"]


def launch(x, y):
    kernel("rows")(x, y, x.shape[0], x.shape[1])
'''
    (tmp_path / "mine.py").write_text(kernel)
    done = klab("verify", tmp_path / "mine.py", "--task", "softmax", "--dtype", "bf16", "--shape", "64x256",
                "--out", tmp_path / "run", "--json")  # fmt: skip
    assert (done.code, done.json["status"]) == (0, "passed"), done.out + done.err
    assert (done.json["task"], done.json["dtype"], done.json["trust"]) == ("softmax_bf16", "bfloat16", "native")


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("columns", [80, 120])
def test_the_list_of_tasks_fits_the_screen_and_cuts_no_name(klab: Klab, columns: int) -> None:
    done = klab("tasks", env={"COLUMNS": str(columns)})
    assert done.code == 0
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert len(lines) < 60
    assert "…" not in done.out
    for language in languages():
        assert language.recipes is not None
        assert all(candidate.name in done.out for candidate in candidates_in(language.recipes))
    for words in (
        "f32, bf16, f16",
        "processor (f32)",
        "16384x4096",
        "4096x781",
        "Triton",
        "CUDA C++",
        "triton-tutorial",
    ):
        assert words in done.out


def test_programs_get_every_variant_with_its_recipes(klab: Klab) -> None:
    listed = {t["name"]: t for t in klab("tasks", "--json").json["tasks"]}
    assert set(listed) == set(TASKS)
    assert {"softmax_blocked", "softmax_row_triton", "softmax_warp_row_cuda"} <= set(listed["softmax"]["candidates"])
    assert "softmax_blocked" not in listed["softmax_bf16"]["candidates"]
    assert listed["softmax_bf16"]["inputs"] == {"x": "bfloat16[M, N]"}


@pytest.mark.heavy
def test_a_run_made_on_a_gpu_is_shown_on_any_machine(klab: Klab, tmp_path: Path) -> None:
    """Its audit is in test_published."""
    folder = Path(shutil.copytree(H200, tmp_path / "copy"))
    shown = klab("show", folder, "--json").json
    (result,) = shown["results"]
    assert (result["task"], result["dtype"], result["status"]) == ("softmax_bf16", "bfloat16", "better")
    trial = next(t for t in shown["trials"] if t["status"] == "measured")
    assert trial["trust"] == "device-only"
    assert "H200" in trial["device"]
    assert f"{result['baseline']}, bf16" in klab("show", folder, env={"COLUMNS": "140"}).out


@pytest.fixture
def on_a_gpu(klab: Klab, recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recorded run, told again as one whose settings say that it was made on a GPU: same task file, same trials."""
    monkeypatch.setenv("KLAB_HOME", klab.environment["KLAB_HOME"])
    folder = tmp_path / "gpu"
    first, *entries = read_entries(recorded.folder)
    body: dict[str, Any] = {**first.body, "settings": {**first.body["settings"], "device": "cuda"}}
    ledger = Ledger.create(folder, body, load_or_create_key())
    for entry in entries:
        trust = {"trust": "device-only"} if "trust" in entry.body else {}
        ledger.append(entry.kind, {**entry.body, **trust})
    ledger.close()
    shutil.copytree(recorded.folder / "artifacts", folder / "artifacts", dirs_exist_ok=True)
    shutil.copy(recorded.folder / "task.py", folder / "task.py")
    return folder


@pytest.mark.sample(1)
@without_gpu
@pytest.mark.parametrize("command", [["resume", "--more", 1], ["replay"], ["audit", "--rerun", 1]], ids=lambda c: c[0])
def test_going_on_with_a_gpu_run_without_a_gpu_is_refused_and_changes_nothing(
    klab: Klab, on_a_gpu: Path, command: list[object]
) -> None:
    assert klab("audit", on_a_gpu, "--json").json["problems"] == []
    before = {p: p.read_bytes() for p in on_a_gpu.rglob("*") if p.is_file()}
    name, *more = command
    done = klab(name, on_a_gpu, *([0] if name == "replay" else more), "--json")
    done.failed(5, "this run is on a GPU, and none answers here", "klab audit")
    assert {p: p.read_bytes() for p in on_a_gpu.rglob("*") if p.is_file()} == before
