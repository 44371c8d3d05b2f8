"""One recorded run for all: it holds a trial of every kind, and nobody changes it (copies are for that)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.home import code_folder

from kernellab.ledger.journal import read_entries

from .command import Done, Klab

SHAPE = "4096"
TASK = '''"""Twice the cube of x: small enough that a whole run takes seconds, and its kernel beats NumPy by far."""
import numpy as np
from kernellab.tasks import STANDARD, Buffer, Task

def reference(x):
    return 2 * x ** 3

def with_numpy(x, y):
    y[...] = np.float32(2) * (x * x * x)

TASK = Task(name="cube", about="2 x^3", inputs=(Buffer("x", ("N",)),), outputs=(Buffer("y", ("N",)),),
            reference=reference, baselines={"numpy": with_numpy}, tune=({"N": 4096},), held_out=({"N": 5003},),
            edge=({"N": 1}, {"N": 7}, {"N": 1025}), distributions=STANDARD)
'''
KERNEL = "void cube(const float *restrict x, float *restrict y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]); }"
LAUNCH = 'def launch(x, y, **_):\n    kernel("cube")(x, y, x.size)\n'


def candidate(source: str = KERNEL, launch: str = LAUNCH, head: str = 'FLAGS = ["-O3"]') -> str:
    """The text of a candidate file."""
    return f"{head}\nSOURCE = r'''{source}'''\n\n{launch}"


CANDIDATES = {
    "good": candidate(
        head='FLAGS = ["-O3"]\nSPACE = {"PAD": [1, 2, 3, 4, 5, 6, 7, 8]}', source="const int pad = PAD;\n" + KERNEL
    ),
    "wrong": candidate(KERNEL.replace("2 *", "3 *")),
    "broken": candidate("void cube(const float *x, float *y, long n) { this is not C }"),
    "refused": candidate(launch='def launch(x, y):\n    raise ValueError("a combination that makes no sense")\n'),
    "twin": candidate(source="const int pad = 1;\n" + KERNEL),
    "slow": candidate(KERNEL.replace("y[i] =", "for (volatile int k = 0; k < 60; k++) y[i] =")),
}


@dataclass(frozen=True)
class Recorded:
    """A finished run folder and what klab said about it."""

    folder: Path
    done: Done

    def trial(self, status: str) -> int:
        return next(int(t["trial"]) for t in self.trials if t["status"] == status)

    @property
    def trials(self) -> list[dict[str, Any]]:
        return bodies(self.folder, "trial")


def bodies(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [dict(e.body) for e in read_entries(folder) if e.kind == kind]


@pytest.fixture(scope="session")
def klab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Klab]:
    made = Klab(tmp_path_factory.mktemp("home"), code_folder(tmp_path_factory))
    yield made
    made.close()


@pytest.fixture(scope="session")
def torch_klab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Klab]:
    """For commands on PyTorch modules, each of which would import torch for two seconds."""
    pytest.importorskip("torch")
    made = Klab(tmp_path_factory.mktemp("home"), code_folder(tmp_path_factory), ("torch",))
    yield made
    made.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the task cube.py and a candidate file for each fate that a trial can have."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "cube.py").write_text(TASK)
    for name, text in CANDIDATES.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture(scope="session")
def search(klab: Klab, files: Path) -> Callable[..., list[object]]:
    """The arguments of a small search over the given candidates."""

    def arguments(out: Path, *names: str, trials: int = 2) -> list[object]:
        given = [word for name in names or ("good",) for word in ("--candidate", files / f"{name}.py")]
        return [
            "run",
            files / "cube.py",
            "--shape",
            SHAPE,
            "--effort",
            "quick",
            "--trials",
            trials,
            "--out",
            out,
            *given,
        ]

    return arguments


@pytest.fixture(scope="session")
def recorded(klab: Klab, search: Callable[..., list[object]], tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A finished run with a measured, a rejected, an invalid, a build-failed and a duplicate trial."""
    folder = tmp_path_factory.mktemp("runs") / "recorded"
    done = klab(
        *search(folder, "good", "wrong", "broken", "refused", "twin", trials=5), "--sampler", "exhaustive", "--json"
    )
    assert done.code in (0, 3, 7), done.err
    return Recorded(folder, done)


@pytest.fixture
def copied(recorded: Recorded, tmp_path: Path) -> Path:
    """A copy of the recorded run to do bad things to."""
    return Path(shutil.copytree(recorded.folder, tmp_path / "copy"))
