"""What is exported, what is refused, and that nothing half-written is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.certify import write_package
from kernellab.certify.certificate import Certificate, write_certificate
from kernellab.certify.export import _place, export, take_order
from kernellab.certify.history import REVIEWS, review
from kernellab.certify.issue import certify
from kernellab.certify.known_answers import drawn_again
from kernellab.certify.package_order import Form, Order
from kernellab.certify.write_package import package_files
from kernellab.core.errors import LedgerFault, UsageError
from kernellab.ledger.keys import load_or_create_key
from kernellab.run.driver import present
from kernellab.tasks.load import load_task

from .conftest import accept

ALONE = "import sys, runpy; sys.modules['kernellab'] = None; sys.path.insert(0, '.'); runpy.run_path(sys.argv[1], run_name='__main__')"


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def run_alone(folder: Path, test: str, home: Path) -> str:
    """The package's own test in a process of its own, in which kernellab cannot be imported."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KLAB_")}
    environment = {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "xdg"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", ALONE, test], cwd=folder, capture_output=True, text=True, check=False,
                          env=environment,)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_not_promoted_is_refused(issued: tuple[Certificate, Path], tmp_path: Path) -> None:
    certificate, path = issued
    with pytest.raises(UsageError, match="not promoted: it is unreviewed"):
        export([path], "module", tmp_path / "out")
    review(path, certificate, "accept", "fine")
    with pytest.raises(UsageError, match="not promoted: it is accepted"):
        export([path], "module", tmp_path / "out")
    review(path, certificate, "reject", "not fine")
    with pytest.raises(UsageError, match="rejected in review: not fine"):
        export([path], "module", tmp_path / "out", unreviewed=True)
    assert not (tmp_path / "out").exists()


def test_what_was_rejected_is_refused_under_any_name_and_in_any_copy_of_the_run(
    issued: tuple[Certificate, Path], copied: Path, confirmed: int, tmp_path: Path
) -> None:
    certificate, path = issued
    before = Path(shutil.copytree(copied, tmp_path / "before"))
    review(path, certificate, "reject", "not fine")
    renamed = Path(shutil.copy(path, tmp_path / "renamed.json"))
    _, fresh = certify(copied, confirmed, tmp_path / "fresh.json")
    for file, run in ((renamed, copied), (fresh, copied), (before / "certificates" / path.name, before)):
        with pytest.raises(UsageError, match="rejected in review: not fine"):
            export([file], "module", tmp_path / "out", [run], unreviewed=True)
    for made in (copied / REVIEWS).iterdir():  # the laboratory still knows
        made.unlink()
    with pytest.raises(UsageError, match="rejected in review: not fine"):
        export([path], "module", tmp_path / "out", unreviewed=True)
    assert not (tmp_path / "out").exists()


def test_a_package_can_be_read_by_everybody(tmp_path: Path) -> None:
    _place(tmp_path / "deep" / "out", {"README.md": "words", "package/code.py": "x = 1\n"})
    out = tmp_path / "deep" / "out"
    assert stat.S_IMODE(out.stat().st_mode) == 0o755
    assert (out / "README.md").read_text() == "words"
    assert (out / "package" / "code.py").read_text() == "x = 1\n"
    assert left(out.parent) == ["out"]


@pytest.mark.heavy
def test_an_unreviewed_package_says_so_loudly(issued: tuple[Certificate, Path], tmp_path: Path) -> None:
    done = export([issued[1]], "module", tmp_path / "out", unreviewed=True)
    assert not done.reviewed
    assert "**UNREVIEWED." in (tmp_path / "out" / "README.md").read_text()
    assert "__reviewed__ = False" in (tmp_path / "out" / "klab_softmax" / "__init__.py").read_text()


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_module_works_alone(promoted: Path, tmp_path: Path, home: Path) -> None:
    done = export([promoted], "module", tmp_path / "out")
    assert (done.package, done.reviewed) == ("klab_softmax", True)
    assert "UNREVIEWED" not in (tmp_path / "out" / "README.md").read_text()
    text = "".join(p.read_text() for p in (tmp_path / "out").rglob("*.py"))
    assert "import kernellab" not in text
    assert "from kernellab" not in text
    assert run_alone(tmp_path / "out", "test_klab_softmax.py", home).count("ok ") == 11
    assert json.loads((tmp_path / "out" / "klab_softmax" / "certificate-0.json").read_text()) == json.loads(
        promoted.read_text()
    )


def written(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.heavy
@pytest.mark.backend_c
def test_fast_math_is_the_kernels_own_and_not_the_callers(promoted: Path, tmp_path: Path, home: Path) -> None:
    order = take_order([promoted])
    kernel = order.variants[0].certificate.kernel
    fast = kernel.model_copy(update={"flags": [*kernel.flags, "-funsafe-math-optimizations"]})
    certificate = order.variants[0].certificate.model_copy(update={"kernel": fast})
    order = replace(order, variants=(replace(order.variants[0], certificate=certificate),))
    folder = written(package_files(order, "module")[1], tmp_path / "out")
    said = run_alone(folder, "test_klab_softmax.py", home)
    assert "ok test_the_floating_point_state_of_the_caller_is_left_alone" in said
    assert "-funsafe-math-optimizations" in (folder / "klab_softmax" / "host.py").read_text()


FORKED = """
import os, warnings
import numpy as np, klab_softmax as k
from klab_softmax import reference

x = k.aligned(np.random.default_rng(0).standard_normal((96, 64)).astype("f4"))
wanted, y = reference.answers(x)[0], k.empty((96, 64), "f4")
step = k.prepare(x, out=y)
step()
if os.fork() == 0:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        y[...] = 0
        step()
        right = np.array_equal(y, wanted) and np.array_equal(k.softmax(x), wanted)
    os._exit(0 if right and any("did not survive fork()" in str(w.message) for w in said) else 1)
assert os.wait()[1] == 0
assert np.allclose(k.softmax(x), wanted, rtol=1e-4) and not np.array_equal(k.softmax(x), wanted)
print("answered")
"""


@pytest.mark.heavy
@pytest.mark.backend_c
def test_after_a_fork_the_reference_answers_in_place_of_a_kernel_with_threads(
    promoted: Path, tmp_path: Path, home: Path
) -> None:
    order = take_order([promoted])
    certificate = order.variants[0].certificate
    speed = certificate.speed.model_copy(update={"threads": 2})
    variant = replace(order.variants[0], certificate=certificate.model_copy(update={"speed": speed}))
    folder = written(package_files(replace(order, variants=(variant,)), "module")[1], tmp_path / "out")
    assert "threaded=True" in (folder / "klab_softmax" / "host.py").read_text()
    assert "do not survive fork()" in (folder / "README.md").read_text()
    (folder / "fork.py").write_text(FORKED)
    assert "answered" in run_alone(folder, "fork.py", home)


COUNTED = """
import os, klab_softmax as k
x = k.empty((96, 64), "f4")
x[...] = 1
before = len(os.listdir("/proc/self/task"))
print(round(float(k.softmax(x)[0, 0]) * 64, 5), len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.backend_c
@pytest.mark.parametrize("threads", [1, 3])
def test_a_region_that_names_no_number_of_threads_gets_the_certified_one(
    threads: int, promoted: Path, tmp_path: Path, home: Path
) -> None:
    order = take_order([promoted])
    first = order.variants[0]
    speed = first.certificate.speed.model_copy(update={"threads": threads})
    text = re.sub(r"num_threads\(KLAB_THREADS\) if\(KLAB_THREADS > 1\)", "", first.candidate.text)
    assert text != first.candidate.text
    kernel = first.certificate.kernel.model_copy(update={"text": ""})  # as if that text had been certified
    variant = replace(first, certificate=first.certificate.model_copy(update={"speed": speed, "kernel": kernel}),
                      candidate=replace(first.candidate, text=text))  # fmt: skip
    folder = written(package_files(replace(order, variants=(variant,)), "module")[1], tmp_path / "out")
    (folder / "count.py").write_text(COUNTED)
    done = subprocess.run([sys.executable, "count.py"], cwd=folder, capture_output=True, text=True, check=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(home / "xdg"), "OMP_NUM_THREADS": "5"})  # fmt: skip
    assert done.stdout.split() == ["1.0", str(threads - 1)]


ASKED = """
import numpy as np, klab_softmax as k
x = k.empty((96, 64), "f4")
x[...] = 1
print(round(float(k.softmax(x)[0, 0]) * 64, 5))
"""


def exported_with(head: str, promoted: Path, folder: Path) -> Path:
    """A package whose kernel's text begins so, as if that had been certified."""
    order = take_order([promoted])
    first = order.variants[0]
    text = f"{first.candidate.text}\nSOURCE = {head!r} + SOURCE\n"
    kernel = first.certificate.kernel.model_copy(update={"text": ""})
    variant = replace(first, certificate=first.certificate.model_copy(update={"kernel": kernel}),
                      candidate=replace(first.candidate, text=text))  # fmt: skip
    return written(package_files(replace(order, variants=(variant,)), "module")[1], folder)


@pytest.mark.heavy
@pytest.mark.backend_c
@pytest.mark.parametrize(
    "head",
    [
        "\n\n#if __LINE__ != 3\n#error elsewhere\n#endif\n",
        '_Static_assert(sizeof(__FILE__) == sizeof("SOURCE"), "elsewhere");\n',
        "#ifdef _OMP_H\n#error elsewhere\n#endif\nstatic inline void team(void) {\n#pragma omp parallel\n{ }\n}\n",
    ],
)
def test_what_a_kernels_text_asks_of_its_compiler_is_answered_as_when_it_was_judged(
    head: str, promoted: Path, tmp_path: Path, home: Path
) -> None:
    folder = exported_with(head, promoted, tmp_path / "out")
    (folder / "ask.py").write_text(ASKED)
    done = subprocess.run([sys.executable, "-W", "error", "ask.py"], cwd=folder, capture_output=True, text=True,
                          check=False, env={**os.environ, "XDG_CACHE_HOME": str(home / "xdg")})  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("1.0", "")


@pytest.mark.heavy
@pytest.mark.parametrize("asked", ["__has_include(<torch.h>)", "__DA\\\nTE__", "__BASE_FILE__"])
def test_a_text_that_asks_where_and_when_it_is_compiled_is_not_exported(
    asked: str, promoted: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="asks for __"):
        exported_with(f"/* {asked} */\n", promoted, tmp_path / "out")


def two_shapes(promoted: Path) -> Order:
    """A second variant of the same kernel, as if it had been timed at another shape with another parameter's value."""
    order = take_order([promoted])
    first = order.variants[0]
    shapes = first.certificate.shapes.model_copy(update={"timed": {"M": 8, "N": 2048}, "low": {"M": 1, "N": 512}})
    other = replace(first, number=1, certificate=first.certificate.model_copy(update={"shapes": shapes}))
    return replace(order, variants=(first, other))


@pytest.mark.heavy
@pytest.mark.backend_c
def test_a_c_library_of_two_variants_builds_and_passes_its_own_test(promoted: Path, tmp_path: Path) -> None:
    folder = written(package_files(two_shapes(promoted), "c")[1], tmp_path / "out")
    done = subprocess.run(["make", "test"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout
    assert "refused" in done.stdout


@pytest.mark.heavy
@pytest.mark.backend_c
def test_the_nearest_certified_variant_is_chosen(
    promoted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, files = package_files(two_shapes(promoted), "module")
    written(files, tmp_path)
    code = f"from {name}.host import choose; print([choose(d) for d in [(96, 64), (8, 2048), (8, 511), (100, 600), (4000, 1), (0, 5)]])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0, 1, 0, 0, None, None]"


def test_certificates_of_different_tasks_or_twice_the_same_shape_are_refused(
    issued: tuple[Certificate, Path], signed_again: Callable[[str], Path], tmp_path: Path
) -> None:
    certificate, path = issued
    _, other = certify(signed_again("softmax-bf16-quick"), 5)
    with pytest.raises(UsageError, match="different tasks: softmax and softmax_bf16"):
        export([path, other], "module", tmp_path / "out", unreviewed=True)
    twin = path.with_name("twin.json")
    write_certificate(twin, certificate.model_copy(update={"issued": "later"}).signed(load_or_create_key()))
    with pytest.raises(UsageError, match="the same shape, M=96,N=64"):
        export([path, twin], "module", tmp_path / "out", unreviewed=True)
    assert not (tmp_path / "out").exists()


def test_a_gpu_kernel_has_no_c_form(signed_again: Callable[[str], Path], tmp_path: Path) -> None:
    certificate, path = certify(signed_again("softmax-bf16-quick"), 5)
    accept(certificate, path)
    with pytest.raises(UsageError, match="a Triton kernel has no C form"):
        export([path], "c", tmp_path / "out")


@pytest.mark.heavy
def test_a_gpu_module_answers_on_a_cpu_by_its_reference(
    signed_again: Callable[[str], Path], tmp_path: Path, home: Path
) -> None:
    pytest.importorskip("torch")
    certificate, path = certify(signed_again("softmax-bf16-quick"), 5)
    accept(certificate, path)
    export([path], "module", tmp_path / "out")
    said = run_alone(tmp_path / "out", "test_klab_softmax_bf16.py", home)
    assert "ok test_the_reference_answers_on_a_cpu_and_outside_the_certified_range" in said


YARDSTICK = """
import glob, json, runpy
import numpy as np
import torch
own = runpy.run_path(glob.glob("test_klab_*.py")[0], run_name="yardstick")
wide = own.get("wide", lambda array: array.astype(np.float64))
back = torch.from_numpy if "wide" in own else np.asarray
dims = own["INSIDE"][-1]
inputs = own["draw"](dims, "cpu") if "place" in own["draw"].__code__.co_varnames else own["draw"](dims)
right = [wide(a) for a in own["call"](inputs)]
errors = [own["worst"]([back(a * (1 + off)) for a in right], inputs, dims) for off in (0, 1e-4, 0.05)]
print(json.dumps({"dims": dims, "drawn": [wide(a).ravel()[:999].tolist() for a in inputs], "errors": errors}))
"""


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.backend_c
@pytest.mark.parametrize(("run", "form"), [("", "module"), ("", "torch-op"), ("softmax-bf16-quick", "module")])
def test_an_exported_test_allows_what_its_own_inputs_allow(
    run: str,
    form: Form,
    issued: tuple[Certificate, Path],
    signed_again: Callable[[str], Path],
    tmp_path: Path,
    home: Path,
) -> None:
    pytest.importorskip("torch")
    path = certify(signed_again(run), 5)[1] if run else issued[1]
    export([path], form, tmp_path / "out", unreviewed=True)
    (tmp_path / "out" / "yardstick.py").write_text(YARDSTICK)
    said = json.loads(run_alone(tmp_path / "out", "yardstick.py", home))
    task = load_task("softmax", "bf16" if run else "")
    dims = dict(zip(task.dim_names, said["dims"], strict=True))
    assert said["drawn"] == [a.astype(float).ravel()[:999].tolist() for a in drawn_again(task, dims)]
    right, off_by_little, off_by_much = said["errors"]
    assert right <= 1 < off_by_much
    assert (off_by_little > 1) == (not run)


EMPTY = """
import torch, klab_particle_filter as k
try:
    k.particle_filter(torch.zeros(0), torch.zeros(0), torch.zeros(1))
except ValueError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_gpu_operator_has_every_derivative_on_a_cpu_and_says_what_it_has_no_answer_for(
    signed_again: Callable[[str], Path], tmp_path: Path, home: Path
) -> None:
    pytest.importorskip("torch")
    _, path = certify(signed_again("particle-filter"), 64)
    export([path], "torch-op", tmp_path / "out", unreviewed=True)
    own_test = tmp_path / "out" / "test_klab_particle_filter.py"
    own_test.write_text(own_test.read_text() + EMPTY)
    said = run_alone(tmp_path / "out", own_test.name, home)
    assert "ok test_forward_mode_and_torch_func" in said
    assert "ok test_second_derivatives" in said
    assert "nothing is defined for empty inputs of shapes [(0,), (0,), (1,)]" in said


@pytest.mark.gpu
@pytest.mark.skipif(not present(), reason="needs a GPU")
@pytest.mark.parametrize(("run", "trial"), [("softmax-bf16-quick", 5), ("stencil5x5", 129), ("particle-filter", 64)])
@pytest.mark.parametrize("form", ["module", "torch-op"])
def test_exported_gpu_kernels_are_right_on_a_gpu(
    run: str, trial: int, form: str, signed_again: Callable[[str], Path], tmp_path: Path, home: Path
) -> None:
    _, path = certify(signed_again(run), trial)
    done = export([path], form, tmp_path / "out", unreviewed=True)
    assert "skipped" not in run_alone(tmp_path / "out", f"test_{done.package}.py", home)


def test_a_full_folder_an_unknown_form_and_no_certificate_are_refused(promoted: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        export([promoted], "module", promoted.parent)
    with pytest.raises(UsageError, match="there is no form 'wheel'") as fault:
        export([promoted], "wheel", tmp_path / "out")
    assert fault.value.fix.startswith("--as takes module, ")
    with pytest.raises(UsageError, match="no certificate"):
        export([], "module", tmp_path / "out")


def test_a_tampered_run_is_not_exported(promoted: Path, copied: Path, tmp_path: Path) -> None:
    ledger = copied / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"measured"', '"Measured"', 1))
    with pytest.raises(LedgerFault, match="does not verify"):
        export([promoted], "module", tmp_path / "out")


@pytest.mark.heavy
def test_an_error_on_the_way_leaves_nothing(promoted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write_package._Writer, "_readme", fails)
    with pytest.raises(OSError, match="No space"):
        export([promoted], "module", tmp_path / "here" / "out")
    monkeypatch.undo()
    assert left(tmp_path / "here") == []


def test_a_package_may_be_read_by_everybody_and_appears_whole(tmp_path: Path) -> None:
    _place(tmp_path / "new" / "package", {"a.txt": "one", "deep/b.txt": "two"})
    place = tmp_path / "new" / "package"
    assert place.stat().st_mode & 0o777 == 0o755
    assert (place / "deep" / "b.txt").read_text() == "two"
    assert [p.name for p in place.parent.iterdir()] == ["package"], "nothing is left aside"
