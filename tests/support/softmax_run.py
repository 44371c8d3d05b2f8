"""A search of the built-in softmax, made once a session for all its workers. Copy the run before anything is changed in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.home import code_folder, settle
from tests.support.once import once

from kernellab import api
from kernellab.ledger.journal import read_entries
from kernellab.ledger.keys import load_or_create_key

_WRONG = """SOURCE = "void k(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = x[i]; }"
def launch(x, y):
    kernel("k")(x, y, x.size)
"""
_GIVEN = {"wrong": _WRONG, "broken": _WRONG.replace("y[i] = x[i]", "this is not C")}


def signing_home(factory: pytest.TempPathFactory) -> Path:
    """A KLAB_HOME with nothing but the key that signs the runs which all workers share."""

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KLAB_HOME", str(folder / "key"))
            load_or_create_key()

    return once(factory, "signing-home", make) / "key"


def softmax_run(factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The run folder and the KLAB_HOME with the key that signed it: a quick search at a small shape, with a wrong kernel and
    one that does not compile, two measured ones or more, and a confirmation."""

    def make(folder: Path) -> None:
        files = []
        for name, text in _GIVEN.items():
            files.append(folder / f"{name}.py")
            files[-1].write_text(text)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settle(folder / "home", code_folder(factory)).items():
                patch.setenv(name, value)
            patch.setenv("KLAB_HOME", str(shutil.copytree(signing_home(factory), folder / "key")))
            while not is_confirmed(folder / "run"):  # a machine that is too busy confirms nothing
                shutil.rmtree(folder / "run", ignore_errors=True)
                api.optimize("softmax", shapes=["96x64"], candidates=files, out=folder / "run", effort="quick", trials=8,
                             device="cpu", sampler="exhaustive", sample_s=0.0001)  # fmt: skip

    made = once(factory, "softmax-run", make)
    return made / "run", made / "key"


def is_confirmed(run: Path) -> bool:
    return run.exists() and any(e.kind == "confirmation" and e.body["timing"] for e in read_entries(run))
