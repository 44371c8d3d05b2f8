"""A zygote that imports in the background, and jobs that several threads want at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.tiers import open_sandbox

from . import jobs
from .conftest import PATIENT

SLOW = "import time\ntime.sleep(%s)\n"
HELD_UP = "import os, time\nwhile not os.path.exists(%r): time.sleep(0.01)\nopen(%r, 'w').close()\n"


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module whose import takes a while, as torch's does."""
    (tmp_path / "slow_to_import.py").write_text(SLOW % 0.5)
    monkeypatch.syspath_prepend(tmp_path)
    return "slow_to_import"


@pytest.fixture(scope="module", params=["T0", "auto"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    opened = open_sandbox("auto", [jobs.__name__]) if request.param == "auto" else Sandbox("T0", [jobs.__name__])
    with opened:
        yield opened


def exit_code(sandbox: Sandbox, entry: str = "seven") -> int | None:
    with sandbox.spawn(f"{jobs.__name__}:{entry}", "run", PATIENT, []) as job:
        job.wait()
        return job.exit_code()


def test_without_waiting_the_zygote_imports_in_the_background_until_its_first_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its import does not end before it is allowed to, and that is after the sandbox is there."""
    go, came = tmp_path / "go", tmp_path / "came"
    (tmp_path / "held_up.py").write_text(HELD_UP % (str(go), str(came)))
    monkeypatch.syspath_prepend(tmp_path)
    with Sandbox("T0", [jobs.__name__, "held_up"], wait=False) as sandbox:
        assert not came.exists()
        go.touch()
        assert exit_code(sandbox) == 7
        assert came.exists(), "the first job waited for it"
        assert exit_code(sandbox) == 7


def test_it_may_be_waited_for_any_number_of_times(slow_module: str) -> None:
    with Sandbox("T0", [jobs.__name__, slow_module], wait=False) as sandbox:
        for _ in range(3):
            sandbox.ready()
        assert exit_code(sandbox) == 7


def test_several_threads_may_want_the_first_job(slow_module: str) -> None:
    with Sandbox("T0", [jobs.__name__, slow_module], wait=False) as sandbox, ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: exit_code(sandbox), range(8))) == [7] * 8


def test_one_that_cannot_start_is_known_when_it_is_wanted_and_gone_then() -> None:
    sandbox = Sandbox("T0", ["no_such_module_anywhere"], wait=False)
    pid = sandbox.zygote_pid
    with pytest.raises(EnvironmentFault, match="no_such_module_anywhere"):
        exit_code(sandbox)
    sandbox.close()
    assert not Path(f"/proc/{pid}").exists()


def test_one_that_nobody_wanted_can_be_closed_while_it_imports(slow_module: str) -> None:
    sandbox = Sandbox("T0", [slow_module], wait=False)
    pid = sandbox.zygote_pid
    sandbox.close()
    assert not Path(f"/proc/{pid}").exists()


def test_jobs_wanted_by_several_threads_at_once_get_their_own_descriptors(sandbox: Sandbox) -> None:
    together = threading.Barrier(6)

    def round_trip(thread: int) -> list[bool]:
        together.wait(600)
        return [self_told(sandbox, f"thread {thread}, job {number}".encode()) for number in range(5)]

    with ThreadPoolExecutor(6) as pool:
        found = [f.result() for f in [pool.submit(round_trip, t) for t in range(6)]]
    assert found == [[True] * 5] * 6


def self_told(sandbox: Sandbox, text: bytes) -> bool:
    """Whether a job that copies one file into another copied these very ones."""
    source, target = (os.memfd_create(name, os.MFD_CLOEXEC) for name in ("source", "target"))
    try:
        os.write(source, text)
        with sandbox.spawn(f"{jobs.__name__}:copies", "run", PATIENT, [source, target]) as job:
            job.wait()
            return job.exit_code() == 0 and os.pread(target, 4096, 0) == text
    finally:
        os.close(source)
        os.close(target)


def test_jobs_of_several_threads_are_different_processes_with_ends_of_their_own(sandbox: Sandbox) -> None:
    entries = ["seven", "crashes", "raises", "prints"] * 3

    def ending(entry: str) -> tuple[int, int | None, int | None, str]:
        with sandbox.spawn(f"{jobs.__name__}:{entry}", "run", PATIENT, []) as job:
            job.wait()
            return job.pid, job.exit_code(), job.signal(), job.log()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ending, entries))
    wanted = {"seven": (7, None), "crashes": (None, 11), "raises": (70, None), "prints": (0, None)}
    assert [f[1:3] for f in found] == [wanted[e] for e in entries]
    assert all("hello from the job" in f[3] for f, e in zip(found, entries, strict=True) if e == "prints")


def test_the_environment_given_to_a_sandbox_is_added_to_the_little_there_is() -> None:
    answer = os.memfd_create("answer", os.MFD_CLOEXEC)
    with Sandbox("T0", [jobs.__name__], environment={"CUDA_MODULE_LOADING": "EAGER"}) as sandbox:
        with sandbox.spawn(f"{jobs.__name__}:tells_environment", "run", PATIENT, [answer]) as job:
            job.wait()
    assert '"CUDA_MODULE_LOADING"' in os.pread(answer, 4096, 0).decode()
    assert '"HOME"' not in os.pread(answer, 4096, 0).decode()
    os.close(answer)
