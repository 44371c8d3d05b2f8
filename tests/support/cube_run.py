"""A search of the small task of all tests, made once a session for all its workers. Copy the run before anything is changed in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.conftest import TASK_FILE
from tests.support.home import code_folder, settle
from tests.support.once import once
from tests.support.softmax_run import is_confirmed, signing_home

from kernellab.core.settings import Settings
from kernellab.search.runs import run_search


def cube_run(factory: pytest.TempPathFactory) -> Path:
    """Eight trials, every combination of the task's own recipe: measured, rejected, invalid and duplicate ones, and a
    confirmation. It is signed with the key of the softmax run."""

    def make(folder: Path) -> None:
        (folder / "cube.py").write_text(TASK_FILE)
        settings = Settings(effort="quick", trials=20, sampler="exhaustive", sample_s=0.0001)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settle(folder / "home", code_folder(factory)).items():
                patch.setenv(name, value)
            patch.setenv("KLAB_HOME", str(shutil.copytree(signing_home(factory), folder / "key")))
            while not is_confirmed(folder / "run"):  # a machine that is too busy confirms nothing
                shutil.rmtree(folder / "run", ignore_errors=True)
                run_search(str(folder / "cube.py"), settings, folder / "run", [{"N": 32768}])

    return once(factory, "cube-run", make) / "run"
