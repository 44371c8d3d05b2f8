from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.build import nvrtc_job, triton
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.settings import Settings
from kernellab.run.driver import present
from kernellab.search.gauntlet import (
    Entry,
    Row,
    builtin_folder,
    collect,
    run_gauntlet,
    runnable,
    sample,
    summary,
)
from kernellab.tasks.load import load_task


def test_the_shipped_gauntlet_has_cheats_honest_kernels_and_tasks() -> None:
    entries = collect([], [])
    kinds = [e.kind for e in entries]
    assert kinds.count("cheat") > 100
    assert kinds.count("honest") > 20
    assert kinds.count("task") > 10
    assert all(e.path.is_relative_to(builtin_folder()) for e in entries)
    assert all(e.caught_by for e in entries if e.kind == "cheat")


def test_a_files_constants_are_read_without_running_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'TASK = "stencil3x3"\nTHREADS = 2\nHARMLESS = True\nCAUGHT_BY = "crash"\nraise SystemExit\n'
    )
    (tmp_path / "b.py").write_text("this is no Python")
    (tmp_path / "c.py").write_text("TASK = Task(name='x')\n")
    a, b, c = collect([tmp_path], [], builtin=False)
    assert (a.task, a.threads, a.harmless, a.caught_by, a.kind) == ("stencil3x3", 2, True, ("crash",), "cheat")
    assert (b.task, b.threads, b.harmless, b.kind) == ("softmax", 1, False, "cheat")
    assert c.kind == "task"


def test_a_single_file_can_be_given_and_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "empty").mkdir()
    assert [e.kind for e in collect([], [tmp_path / "mine.py"], builtin=False)] == ["honest"]
    with pytest.raises(UsageError, match="holds no Python files"):
        collect([tmp_path / "empty"], [], builtin=False)


def test_every_shipped_task_that_must_be_refused_is_refused() -> None:
    rows = run_gauntlet([e for e in collect([], []) if e.kind == "task"], Settings())
    assert [r.name for r in rows if not r.right] == []


def test_the_summary_counts_caught_missed_and_false_alarms() -> None:
    def row(kind: str, right: bool) -> Row:
        return Row("n", kind, right, "", "", "")  # type: ignore[arg-type]

    rows = [row("cheat", True), row("task", True), row("cheat", False), row("honest", True), row("honest", False)]
    assert summary(rows) == {"caught": 2, "missed": 1, "false_alarms": 1, "honest": 2, "busy": 0}


def test_a_machine_too_busy_to_tell_is_counted_apart_and_no_mistake() -> None:
    rows = [Row("a", "cheat", False, "busy", "", ""), Row("b", "honest", True, "busy", "", "")]
    assert [r.wrong for r in rows] == [False, False]
    assert summary(rows) == {"caught": 0, "missed": 0, "false_alarms": 0, "honest": 0, "busy": 2}


def test_a_sample_has_every_kind_and_device_in_proportion() -> None:
    entries = collect([], [])
    strata = Counter((e.kind, e.device) for e in entries)
    for count in (len(strata), 60, 200):
        drawn = sample(entries, count, seed=1)
        assert len(drawn) == count
        assert [e for e in entries if e in drawn] == drawn
        found = Counter((e.kind, e.device) for e in drawn)
        assert set(found) == set(strata)
        assert all(abs(found[s] - count * strata[s] / len(entries)) <= 2.5 for s in strata)


def test_a_sample_is_drawn_again_by_its_seed_and_is_never_larger_than_all() -> None:
    entries = collect([], [])
    assert sample(entries, 60, seed=7) == sample(entries, 60, seed=7)
    assert sample(entries, 60, seed=7) != sample(entries, 60, seed=8)
    assert sample(entries, 10_000, seed=7) == entries
    assert len(sample(entries, 1, seed=7)) == 1


def test_a_task_says_where_its_kernels_are_judged_often() -> None:
    task = load_task("softmax")
    assert task.quick_shape == {"M": 512, "N": 1024}
    assert replace(task, quick=None).quick_shape == {"M": 4096, "N": 781}


@pytest.mark.slow
@pytest.mark.backend_c
def test_a_cheat_is_caught_or_missed_and_an_honest_kernel_is_right_or_refused(task_file: Path, tmp_path: Path) -> None:
    """STAGE "verify": even a machine too busy to time anything must tell the wrong from the right."""
    kernel = (
        f'TASK = "{task_file}"\nSTAGE = "verify"\n'
        "SOURCE = r'''void k(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = 2 * x[i] * x[i] * x[i]; }'''\n"
        'def launch(x, y):\n    kernel("k")(x, y, x.size)\n'
    )
    wrong = kernel.replace("y[i] = 2", "y[i] = 3")
    files = {"caught": wrong, "harmless": kernel + "HARMLESS = True\n", "missed": kernel}
    for folder, texts in (("cheats", files), ("honest", {"refused": wrong, "right": kernel})):
        (tmp_path / folder).mkdir()
        for name, text in texts.items():
            (tmp_path / folder / f"{name}.py").write_text(text)
    rows = {
        r.name: r
        for r in run_gauntlet(collect([tmp_path / "cheats"], [tmp_path / "honest"], builtin=False), Settings())
    }
    assert {name: (r.kind, r.right, r.status) for name, r in rows.items() if name != "right"} == {
        "caught": ("cheat", True, "rejected"), "harmless": ("cheat", True, "harmless"), "missed": ("cheat", False, "passed"),
        "refused": ("honest", False, "rejected"),
    }  # fmt: skip
    assert (rows["right"].kind, rows["right"].right) == ("honest", True)
    assert rows["right"].status in ("passed", "busy")
    assert (rows["caught"].cause, rows["refused"].cause) == ("wrong-output", "wrong-output")
    told = summary([r for r in rows.values() if r.name != "right"])
    assert told == {"caught": 2, "missed": 1, "false_alarms": 1, "honest": 1, "busy": 0}


MISSING = triton.missing() or nvrtc_job.PROBLEM
compilers = pytest.mark.skipif(bool(MISSING), reason=MISSING)
GPU_FILES = ["cheat_flags_output", "cheat_forge_buffer_2", "cheat_triton_static_in_ptx"]


def gpu_entries() -> list[Entry]:
    return [e for e in collect([], []) if e.device == "cuda"]


def test_the_shipped_gauntlet_knows_which_files_are_for_a_gpu() -> None:
    entries = collect([], [])
    assert {e.device for e in entries if e.path.parent.name == "gpu"} == {"cuda"}
    assert {e.device for e in entries if e.path.parent.name in ("c", "tasks")} == {"cpu"}
    gpu = gpu_entries()
    assert sum(e.kind == "cheat" for e in gpu) > 80
    assert sum(e.kind == "honest" for e in gpu) > 20
    assert {e.stage for e in gpu if e.kind == "cheat"} == {"build", "run"}
    assert not [e for e in gpu if e.kind == "honest" and (e.stage or e.caught_by)]
    assert len({(e.device, e.path.stem) for e in entries}) == len(entries)
    assert all(load_task(e.task).quick for e in entries if e.kind != "task")


def test_a_folder_of_ones_own_may_mix_devices(tmp_path: Path) -> None:
    for name, text in {
        "a": "SOURCE = r'''void k(void) {}'''\n",
        "b": "SOURCE = r'''__global__ void k() {}'''\nSTAGE = 'build'\n",
        "c": "import triton\n@triton.jit\ndef k(x): pass\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    entries = collect([tmp_path], [], builtin=False)
    assert [(e.device, e.stage) for e in entries] == [("cpu", ""), ("cuda", "build"), ("cuda", "")]


@pytest.mark.skipif(present(), reason="there is a GPU here")
def test_without_a_gpu_only_what_is_refused_when_built_can_be_decided_of_its_entries() -> None:
    entries = collect([], [])
    here = runnable(entries, Settings())
    assert [e for e in here if e.device == "cpu"] == [e for e in entries if e.device == "cpu"]
    built = [e for e in here if e.device == "cuda"]
    assert len(built) > 30
    assert {(e.stage, e.kind) for e in built} == {("build", "cheat")}
    assert {e.path for e in gpu_entries() if e.stage == "build"} == {e.path for e in built}


@pytest.mark.skipif(not present(), reason="needs a GPU")
def test_with_a_gpu_every_entry_can_be_decided() -> None:
    entries = collect([], [])
    assert runnable(entries, Settings()) == entries


def test_a_device_that_is_asked_for_leaves_the_others_kernels_out_and_no_task() -> None:
    entries = collect([], [])
    for device, other in (("cpu", "cuda"), ("cuda", "cpu")):
        here = runnable(entries, Settings(device=device))  # type: ignore[arg-type]
        assert not [e for e in here if e.device == other and e.kind != "task"]
        assert [e for e in here if e.kind == "task"] == [e for e in entries if e.kind == "task"]


@compilers
@pytest.mark.skipif(present(), reason="there is a GPU here")
def test_gpu_cheats_that_must_not_build_are_caught_without_a_gpu() -> None:
    chosen = [e for e in gpu_entries() if e.path.stem in GPU_FILES]
    seen: list[Event] = []
    rows = run_gauntlet(chosen, Settings(), seen.append)
    assert sorted(r.name for r in rows) == GPU_FILES
    for row in rows:
        (entry,) = [e for e in chosen if e.path.stem == row.name]
        assert row.right, row
        assert row.device == "cuda"
        assert row.cause in entry.caught_by
        assert row.reason
    assert [e.data["row"] for e in seen] == rows
    assert summary(rows) == {"caught": 3, "missed": 0, "false_alarms": 0, "honest": 0, "busy": 0}


@pytest.mark.heavy
@compilers
@pytest.mark.skipif(present(), reason="there is a GPU here")
def test_a_gpu_kernel_of_a_task_of_ones_own_is_built_at_its_smallest_tuned_shape(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\nfrom kernellab.tasks.load import load_task\n"
        'TASK = replace(load_task("softmax"), name="mine", quick=None)\n'
    )
    cheat = builtin_folder() / "gpu" / "cheat_flags_output.py"
    text = cheat.read_text().replace('TASK = "softmax"', f'TASK = "{tmp_path / "mine.py"}"')
    (tmp_path / "cheats").mkdir()
    (tmp_path / "cheats" / "cheat.py").write_text(text)
    (row,) = run_gauntlet(collect([tmp_path / "cheats"], [], builtin=False), Settings())
    assert (row.right, row.status) == (True, "build-failed")


@pytest.mark.heavy
@compilers
@pytest.mark.skipif(present(), reason="there is a GPU here")
def test_a_gpu_cheat_that_builds_although_it_must_not_is_missed(tmp_path: Path) -> None:
    """What says that it is refused when built and is not: the gauntlet must not call that right."""
    honest = builtin_folder() / "gpu" / "honest_softmax_fast_math.py"
    (tmp_path / "cheat.py").write_text(honest.read_text() + '\nSTAGE = "build"\nCAUGHT_BY = ("build-failed",)\n')
    (row,) = run_gauntlet(collect([tmp_path], [], builtin=False), Settings())
    assert (row.right, row.status, row.device) == (False, "built", "cuda")
    assert summary([row])["missed"] == 1
