"""The wheel and the source distribution, built and installed into environments that have nothing else."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
pytestmark = [pytest.mark.backend_c, pytest.mark.slow]


def run(*command: object, cwd: Path, env: Mapping[str, str] | None = None, given: str = "") -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, text=True, capture_output=True, check=False, env=env, input=given
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def fresh(folder: Path) -> Path:
    """The python of a new environment."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: object) -> None:
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, cwd=python.parent)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both, from the tree as it is."""
    place = tmp_path_factory.mktemp("built")
    python = fresh(place / "builder")
    pip(python, "install", "hatchling")
    run(python, "-m", "hatchling", "build", "-d", place / "dist", cwd=ROOT)
    (wheel,), (source,) = (list((place / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    return {"wheel": wheel, "source": source}


@pytest.fixture(scope="module")
def installed(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = fresh(tmp_path_factory.mktemp("installed") / "venv")
    pip(python, "install", built["wheel"])
    return python


def test_the_wheel_holds_what_the_laboratory_reads(built: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(built["wheel"]).namelist())
    for needed in ("py.typed", "__main__.py", "report/foreign/devices.toml", "report/paper/bibliography.toml"):
        assert f"kernellab/{needed}" in names, needed
    kept = [p.relative_to(ROOT / "src") for p in (ROOT / "src" / "kernellab").rglob("*") if p.is_file()]
    missing = [str(p) for p in kept if p.suffix not in (".pyc", "") and str(p) not in names]
    assert missing == []
    assert not any(name.startswith(("runs/", "tests/")) for name in names)


def test_the_source_distribution_builds_the_same_wheel(built: dict[str, Path], tmp_path: Path) -> None:
    with tarfile.open(built["source"]) as archive:
        folders = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {"src", "tests", "docs", "LICENSE"} <= folders
    assert folders.isdisjoint({"runs", ".venv", "benchmarks"})
    python = fresh(tmp_path / "venv")
    pip(python, "wheel", "--no-deps", "-w", tmp_path / "again", built["source"])
    (again,) = (tmp_path / "again").glob("*.whl")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(built["wheel"]).namelist())


def test_klab_and_the_module_start_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    klab = installed.with_name("klab")
    assert run(klab, "--version", cwd=tmp_path) == run(installed, "-m", "kernellab", "--version", cwd=tmp_path)
    assert json.loads(run(klab, "tasks", "--json", cwd=tmp_path).splitlines()[-1])["tasks"]
    where = run(installed, "-c", "import kernellab; print(kernellab.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(installed.parents[1])


def test_the_doctor_and_a_verdict_run_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    klab = installed.with_name("klab")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "KLAB_HOME": str(tmp_path / "key")}
    run(klab, "doctor", cwd=tmp_path, env=env)
    run(klab, "generate", "softmax", "--out", "mine.py", cwd=tmp_path, env=env)
    said = run(klab, "verify", "mine.py", "--task", "softmax", "--shape", "96x64", "--json", cwd=tmp_path, env=env)
    assert json.loads(said.splitlines()[-1])["status"] == "passed"


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "KLAB_HOME": str(tmp_path / "key"),
           "KLAB_SAMPLE_S": "0.0001"}  # fmt: skip
    command = [str(installed.with_name("klab")), "demo", "--out", str(tmp_path / "demo")]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False, env=env)
    assert done.returncode in (0, 3, 7), done.stdout + done.stderr  # how fast it is depends on the machine
    assert "audit" in done.stdout


def test_every_extra_resolves(installed: Path, built: dict[str, Path]) -> None:
    """All of them together, which is the harder question."""
    pip(installed, "install", "--dry-run", f"{built['wheel']}[{','.join(EXTRAS)}]")
