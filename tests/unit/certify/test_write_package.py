"""The files of a package, in all forms; what has no formula becomes a table."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.certify import c_text
from kernellab.certify.export import take_order
from kernellab.certify.issue import certify
from kernellab.certify.package_order import FORMS, Form
from kernellab.certify.write_package import package_files
from kernellab.core.errors import UsageError
from kernellab.tasks.builtin import TASKS

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
@pytest.mark.parametrize("form", FORMS)
def test_every_package_has_readme_test_and_certificate(form: Form, promoted: Path) -> None:
    name, files = package_files(take_order([promoted]), form)
    assert name == "klab_softmax"
    names = {Path(f).name for f in files}
    assert {"README.md", "certificate-0.json"} <= names
    assert any(n.startswith("test_klab_softmax.") for n in names)
    assert ("op.py" in names) == (form == "torch-op")
    for file, text in files.items():
        assert text.endswith("\n"), file
        if file.endswith(".py"):
            ast.parse(text)
    readme = files["README.md"]
    for words in (
        "M from 1 to 3000, N from 1 to 4095", "72 shapes", "M=96,N=64",
        "drawn as normal, offset, heavy-tail, large, constant-rows, masked", "Not judged: NaN, +inf",
    ):  # fmt: skip
        assert words in readme


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize("form", FORMS)
def test_every_speed_up_of_an_export_is_printed_with_its_dropped_pairs(form: Form, promoted: Path) -> None:
    order = take_order([promoted])
    speed = order.variants[0].certificate.speed.model_copy(update={"pairs": 25, "dropped": 466})
    certificate = order.variants[0].certificate.model_copy(update={"speed": speed})
    _, files = package_files(replace(order, variants=(replace(order.variants[0], certificate=certificate),)), form)
    words = "25 pairs, 466 of 491 tries dropped"
    assert f"] | {words} |" in files["README.md"]
    (kernel,) = (text for name, text in files.items() if name.endswith(("kernel_0.c", "model_new.py")))
    assert f"] ({words}) at " in kernel


@pytest.mark.heavy
def test_launches_without_a_formula_are_a_table(
    promoted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c_text, "lift", lambda *_: None)
    order = take_order([promoted])
    assert "used at these shapes only: M=96,N=64, M=1,N=1" in package_files(order, "module")[1]["README.md"]
    for name, text in package_files(order, "c")[1].items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(["make", "test"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" ok\n") >= 3


def test_sixteen_bit_floats_have_no_c_library(promoted: Path) -> None:
    order = replace(take_order([promoted]), task=TASKS["softmax_bf16"])
    with pytest.raises(UsageError, match="16-bit floats"):
        package_files(order, "c")


@pytest.mark.heavy
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("run", "trial", "needs"),
    [("softmax-bf16-quick", 5, '"triton>=3.4"'), ("particle-filter", 64, '"cuda-bindings>=12.8"')],
)
def test_gpu_packages_name_what_they_need(
    run: str, trial: int, needs: str, signed_again: Callable[[str], Path]
) -> None:
    _, path = certify(signed_again(run), trial)
    for form in FORMS[:2]:
        _, files = package_files(take_order([path], unreviewed=True), form)
        assert needs in files["pyproject.toml"]
        assert "A back door that only certain values open cannot be seen" in files["README.md"]
        for file, text in files.items():
            if file.endswith(".py"):
                ast.parse(text)
                assert "kernellab" not in text, file
