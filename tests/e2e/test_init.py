"""A task of the user's own, from the template to a recorded run that needs nothing but its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.report.audit import audit

from .command import Klab
from .conftest import bodies

pytestmark = pytest.mark.backend_c


@pytest.mark.slow
def test_the_template_runs_as_it_is_and_its_run_outlives_the_file(klab: Klab, tmp_path: Path) -> None:
    assert "wrote my_op.py" in klab("init", "my_op", cwd=tmp_path).out
    done = klab(
        "run",
        "my_op.py",
        "--effort",
        "quick",
        "--trials",
        2,
        "--shape",
        "64x256",
        "--out",
        "run",
        "--json",
        cwd=tmp_path,
    )
    assert done.code in (0, 3, 7), done.err
    assert done.json["task"] == "my_op"
    (tmp_path / "my_op.py").unlink()
    more = klab("resume", "run", "--more", 1, "--json", cwd=tmp_path)
    assert more.code in (0, 3, 7), more.err
    assert len(bodies(tmp_path / "run", "trial")) == 3
    again = klab("replay", "run", 0, "--json", cwd=tmp_path)
    assert again.json["same_machine_code"], again.err
    assert audit(tmp_path / "run", more.json["ledger_root"]).problems == []


@pytest.mark.heavy
def test_the_runs_go_into_a_folder_of_their_own_where_none_is_named(klab: Klab, files: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = klab("verify", files / "wrong.py", "--task", files / "cube.py", "--shape", 4096, "--json", cwd=tmp_path)
        assert done.code == 4
    folders = sorted((tmp_path / "klab-runs").iterdir())
    assert len(folders) == 2
    assert all(audit(f).problems == [] for f in folders)


def test_init_does_not_overwrite(klab: Klab, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("precious")
    klab("init", "mine", "--json", cwd=tmp_path).failed(2, "mine.py exists already", "--force")
    klab("init", "mine.py", "--json", cwd=tmp_path).failed(2, "mine.py exists already")
    assert (tmp_path / "mine.py").read_text() == "precious"
    assert klab("init", "mine", "--force", cwd=tmp_path).code == 0
    assert "TASK = Task(" in (tmp_path / "mine.py").read_text()


@pytest.mark.parametrize("name", ["2fast", "my-op", "a b", "", "../up/x y"])
def test_a_name_that_python_does_not_take_is_refused(klab: Klab, tmp_path: Path, name: str) -> None:
    klab("init", name, cwd=tmp_path).failed(2, "cannot name a task")
    assert list(tmp_path.iterdir()) == []


def test_a_template_in_a_folder_that_is_not_there_is_an_error_with_a_fix(klab: Klab, tmp_path: Path) -> None:
    klab("init", "nowhere/mine", "--json", cwd=tmp_path).failed(5, "nowhere/mine.py")
