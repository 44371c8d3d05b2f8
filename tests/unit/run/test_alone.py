"""The replay that tools watch: what the folder holds, and a real process over a driver in host memory."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from kernellab.build.base import Built, Part
from kernellab.build.bundle import Bundle, pack
from kernellab.build.plan import BufferArg, IntArg, Plan, ScratchArg, Step
from kernellab.core.records import Artifact
from kernellab.run.alone import PLAN, Work, find_tool, main, version_of, watch, write
from kernellab.tasks.spec import Array, Dims, Task

from .fake_driver import install

ARTIFACT = Artifact(
    id="a", backend="cuda", code="c", plans="p", log="l", compiler="none", flags=[], static_bytes=0, build_s=0.0
)


def plan_for(n: int, last: str = "add") -> Plan:
    """x doubled into scratch, then added to a zeroed scratch buffer, then doubled into y."""
    first = Step(kernel="twice", grid=[n], block=[32], args=[BufferArg(index=0), ScratchArg(index=0), IntArg(value=n)])
    second = Step(
        kernel=last,
        grid=[1],
        block=[32],
        args=[ScratchArg(index=0), ScratchArg(index=1), IntArg(value=n)],
        shared=65536,
    )
    third = Step(
        kernel="twice", grid=[2, 3], block=[16], args=[ScratchArg(index=1), BufferArg(index=1), IntArg(value=n)]
    )
    return Plan(scratch=[4 * n, 4 * n], zeroed=[1], steps=[first, second, third])


def made(shapes: tuple[Dims, ...], last: str = "add") -> Built:
    bundle = Bundle((b"one", b"two"), {"twice": (0, "double"), "add": (1, "add"), "stray": (1, "stray")})
    return Built(ARTIFACT, tuple(Part(d, pack(bundle), plan_for(d["N"], last)) for d in shapes))


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Child processes find the driver in host memory; returns its log."""
    log = tmp_path / "driver.log"
    monkeypatch.setenv("PYTHONPATH", str(install(tmp_path / "path")))
    monkeypatch.setenv("FAKE_DRIVER_LOG", str(log))
    return log


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def inputs(n: int, seed: int = 0) -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    return [np.random.default_rng(seed).standard_normal(n, dtype=np.float32)]


def outputs_of(folder: Path) -> list[list[Array]]:
    """What a replay left behind: the outputs of every call, in the task's order."""
    setup = json.loads((folder / PLAN).read_bytes())
    return [
        [np.fromfile(folder / o["file"], dtype=o["dtype"]).reshape(o["shape"]) for o in work["outputs"]]
        for work in setup["calls"]
    ]


def test_a_replay_makes_every_call_and_writes_its_outputs(driver: Path, folder: Path, double_task: Task) -> None:
    works = [Work({"N": 5}, inputs(5)), Work({"N": 3}, inputs(3, 1)), Work({"N": 5}, inputs(5, 2))]
    write(folder, made(({"N": 3}, {"N": 5})), double_task, works)
    done = watch([], folder, 60)
    assert (done.code, done.err) == (0, "")
    for work, (got,) in zip(works, outputs_of(folder), strict=True):
        np.testing.assert_array_equal(got, 4 * work.inputs[0])
        assert got.dtype == np.float32


@pytest.mark.heavy
def test_buffers_have_exactly_their_size_and_are_freed(driver: Path, folder: Path, double_task: Task) -> None:
    write(folder, made(({"N": 1},)), double_task, [Work({"N": 1}, inputs(1))], fetch=False)
    assert watch([], folder, 60).code == 0
    said = driver.read_text().splitlines()
    assert said == [
        "load one", "load two", "alloc 4", "alloc 4", "alloc 4", "alloc 4", "upload 4", "attribute add 65536", "zero 4",
        "launch double 1 32 0", "launch add 1 32 65536", "launch double 2 16 0", "free 4", "free 4", "free 4", "free 4",
        "unload one", "unload two",
    ]  # fmt: skip


def test_bundles_of_several_shapes_are_loaded_and_a_module_they_share_once(
    driver: Path, folder: Path, double_task: Task
) -> None:
    first = made(({"N": 3},)).parts[0]
    other = Bundle((b"two", b"three"), {"twice": (1, "double"), "add": (0, "add")})
    built = Built(ARTIFACT, (first, Part({"N": 5}, pack(other), plan_for(5))))
    works = [Work({"N": 3}, inputs(3)), Work({"N": 5}, inputs(5))]
    write(folder, built, double_task, works)
    done = watch([], folder, 60)
    assert (done.code, done.err) == (0, "")
    for work, (got,) in zip(works, outputs_of(folder), strict=True):
        np.testing.assert_array_equal(got, 4 * work.inputs[0])
    said = driver.read_text().splitlines()
    assert [line for line in said if line.startswith("load")] == ["load one", "load two", "load three"]
    assert said.count("attribute add 65536") == 1


@pytest.mark.heavy
def test_repeats_zero_what_a_plan_zeroes_each_time(driver: Path, folder: Path, double_task: Task) -> None:
    write(folder, made(({"N": 4},)), double_task, [Work({"N": 4}, inputs(4))], repeats=3)
    assert watch([], folder, 60).code == 0
    np.testing.assert_array_equal(outputs_of(folder)[0][0], 4 * inputs(4)[0])
    said = driver.read_text().splitlines()
    assert said.count("zero 16") == 3
    assert sum(line.startswith("launch") for line in said) == 9


@pytest.mark.heavy
def test_a_fault_of_the_gpu_is_a_message_and_a_code(driver: Path, folder: Path, double_task: Task) -> None:
    write(folder, made(({"N": 4},), last="stray"), double_task, [Work({"N": 4}, inputs(4))])
    done = watch([], folder, 60)
    assert done.code == 3
    assert done.last == "the GPU reports: illegal address (cuStreamSynchronize)"


def test_plans_are_written_once_and_only_those_needed(folder: Path, double_task: Task) -> None:
    works = [Work({"N": 5}, inputs(5)), Work({"N": 5}, inputs(5, 1))]
    write(folder, made(({"N": 3}, {"N": 5})), double_task, works)
    setup = json.loads((folder / PLAN).read_text())
    assert [call["plan"] for call in setup["calls"]] == [0, 0]
    assert [plan["scratch"] for plan in setup["plans"]] == [[20, 20]]
    assert setup["calls"][1]["inputs"] == [{"file": "1-x.bin", "shape": [5], "dtype": "float32", "nbytes": 20}]


def test_inputs_of_the_wrong_size_are_refused(folder: Path, double_task: Task) -> None:
    with pytest.raises(ValueError, match="x has 16 bytes of input, its shape takes 20"):
        write(folder, made(({"N": 5},)), double_task, [Work({"N": 5}, inputs(4))])


def test_a_tool_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"set -m; sleep 600 & echo $! > {pid}; echo so far; wait"  # -m: in a process group of its own
    done = watch(["/bin/sh", "-c", script], tmp_path, 1.0)
    assert (done.code, done.out) == (None, "so far\n")
    stat, until = Path(f"/proc/{pid.read_text().strip()}/stat"), time.monotonic() + 600
    while _alive(stat) and time.monotonic() < until:  # killed, it still has to get the processor once more
        time.sleep(0.01)
    assert not _alive(stat)


def _alive(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_command_line_takes_one_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_tools_are_found_in_a_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "klab-no-such-tool"
    tool.write_text('#!/bin/sh\necho "NVIDIA (R) Tool"\necho "Version 2025.3.1.0 (build 36398880)"\n')
    tool.chmod(0o755)
    assert find_tool(tool.name) == ""
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert find_tool(tool.name) == str(tool)
    assert version_of(str(tool)) == "Version 2025.3.1.0 (build 36398880)"
    assert version_of(str(tmp_path / "absent")) == ""


def test_it_runs_in_any_folder(tmp_path: Path) -> None:
    """The child must find the package whatever folder it starts in, installed or not."""
    assert "plan.json" in watch(["env", "-C", str(tmp_path)], tmp_path / "absent", 60).err
