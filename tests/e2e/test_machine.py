"""Folders that cannot be used and machines that lack something."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.report.audit import audit

from .command import Klab, wait_until
from .conftest import Recorded, bodies

pytestmark = pytest.mark.backend_c

WITHOUT_NAMESPACES = """
import errno, os, sys
from kernellab.sandbox import libc, seccomp as s
refused = s._prologue() + s._on("unshare", s._errno(errno.EPERM)) + s._op(s._RET, s._ALLOW)
libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
s.install(refused)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_second_run_in_a_folder_is_refused_and_the_first_unharmed(
    klab: Klab, search: Callable[..., list[object]], copied: Path
) -> None:
    before = {p: p.read_bytes() for p in copied.rglob("*") if p.is_file()}
    klab(*search(copied), "--json").failed(2, "already holds a ledger", "--out")
    assert {p: p.read_bytes() for p in copied.rglob("*") if p.is_file()} == before


@pytest.mark.slow
def test_nobody_else_writes_to_a_folder_while_a_run_goes_on(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    first = klab.start(*search(folder, "good", trials=8), "--json", env={"KLAB_SAMPLE_S": "0.0005"})
    try:
        wait_until(lambda: (folder / "ledger.jsonl").exists())
        klab("resume", folder, "--json").failed(5, f"is being written by process {first.pid}", "wait for it")
        assert first.poll() is None
        klab(*search(folder), "--json").failed(2, "already holds a ledger")
        assert klab("audit", folder, "--json").code == 0
        _, err = first.communicate()
    finally:
        first.kill()
        first.communicate()
    assert first.returncode in (0, 3, 7), err
    assert audit(folder).problems == []
    assert len(bodies(folder, "trial")) == 8


@pytest.mark.heavy
def test_a_folder_that_cannot_be_made_is_an_environment_fault(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    klab(*search(tmp_path / "file" / "run"), "--json").failed(5, "cannot write to", "--out")
    klab(*search(Path("/proc/nowhere/run")), "--json").failed(5, "cannot write to", "--out")
    klab(*search(tmp_path / "file"), "--json").failed(5, "--out")
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.mark.heavy
def test_without_a_home_for_the_key_nothing_is_recorded_and_everything_is_read(
    klab: Klab, search: Callable[..., list[object]], recorded: Recorded, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "home")
    env = {"HOME": nowhere, "KLAB_HOME": nowhere, "XDG_CONFIG_HOME": nowhere, "XDG_CACHE_HOME": nowhere}
    klab(*search(tmp_path / "run"), "--json", env=env).failed(5, "signing key", "set KLAB_HOME")
    assert not (tmp_path / "run").exists()
    for command in (("show", recorded.folder), ("audit", recorded.folder), ("tasks",)):
        assert klab(*command, env=env).code == 0


@pytest.mark.heavy
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is not None, reason="a compiler from PyPI is installed")
def test_without_a_compiler_the_message_says_how_to_get_one(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    bare = {"PATH": str(tmp_path / "bin"), "KLAB_COMPILER": None}
    klab(*search(tmp_path / "run"), "--json", env=bare).failed(5, "no C compiler", "apt-get install gcc", "pip install")
    assert not (tmp_path / "run").exists()
    doctor = klab("doctor", "--json", env=bare)
    assert doctor.code == 5
    assert "no C compiler" in doctor.json["compiler"]


def test_a_compiler_that_does_not_compile_is_named(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    klab(*search(tmp_path / "run"), "--compiler", broken, "--json").failed(5, str(broken), "does not compile")


@pytest.mark.heavy
def test_a_machine_without_namespaces_falls_back_to_tier_two_and_says_so(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    (tmp_path / "wrapper.py").write_text(WITHOUT_NAMESPACES)
    bare = [sys.executable, str(tmp_path / "wrapper.py")]
    done = klab(*search(tmp_path / "run", "good", "wrong"), "--json", before=bare)
    assert done.code in (0, 3, 7), done.err
    assert done.json["tier"] == "T2"
    assert {t["tier"] for t in bodies(tmp_path / "run", "trial")} == {"T2"}
    assert [t["status"] for t in bodies(tmp_path / "run", "trial")] == ["measured", "rejected"]
    assert audit(tmp_path / "run").problems == []
    klab(*search(tmp_path / "other"), "--sandbox", "T1", "--json", before=bare).failed(5, "T1")
    assert not (tmp_path / "other").exists()


@pytest.mark.heavy
def test_a_run_without_a_sandbox_is_marked_as_such(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    done = klab(*search(tmp_path / "run", "good"), "--sandbox", "none", "--json")
    assert done.code in (0, 3, 7), done.err
    assert done.json["tier"] == "T0"
    assert {t["tier"] for t in bodies(tmp_path / "run", "trial")} == {"T0"}
