"""Calls and task files that cannot work: each is named, with a way to mend it, and nothing is left behind."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import kernellab

from .command import Done, Klab
from .conftest import TASK, candidate

pytestmark = pytest.mark.backend_c


def attempt(klab: Klab, task: object, tmp_path: Path, *more: object) -> Done:
    """A run that must not begin: whatever is wrong with it, no folder may appear."""
    done = klab("run", task, "--effort", "quick", "--trials", 1, "--out", tmp_path / "run", "--json", *more)
    assert not (tmp_path / "run").exists()
    assert done.json["status"] == "error"
    return done


def test_an_unknown_task_is_named_and_the_nearest_one_suggested(klab: Klab, tmp_path: Path) -> None:
    attempt(klab, "sofmax", tmp_path).failed(2, "no task 'sofmax'", "did you mean 'softmax'?")


def test_a_task_file_that_is_not_there(klab: Klab, tmp_path: Path) -> None:
    attempt(klab, tmp_path / "absent.py", tmp_path).failed(2, "there is no file", "absent.py", "klab init")


def test_a_shape_that_no_memory_holds_is_refused_before_anything_is_opened(klab: Klab, tmp_path: Path) -> None:
    done = attempt(klab, "softmax", tmp_path, "--shape", "1000000000x1000000000")
    done.failed(2, "needs 8e+09 GB, and this machine has", "choose a smaller shape")


def test_an_unknown_device(klab: Klab, files: Path, tmp_path: Path) -> None:
    attempt(klab, files / "cube.py", tmp_path, "--candidate", files / "good.py", "--device", "tpu").failed(
        2, "setting 'device'", "given: 'tpu'", "'auto', 'cpu' or 'cuda'"
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("command", ["run", "verify", "bench"])
@pytest.mark.parametrize("threads", [len(os.sched_getaffinity(0)) + 1, 999, 5000])
def test_more_threads_than_processors(klab: Klab, files: Path, tmp_path: Path, command: str, threads: int) -> None:
    task = [files / "cube.py", "--candidate", files / "good.py"]
    given = task if command == "run" else [files / "good.py", "--task", files / "cube.py"]
    done = klab(command, *given, "--threads", threads, "--device", "cpu", "--out", tmp_path / "run", "--json")
    done.failed(2, f"{threads} threads are more than", f"give --threads {len(os.sched_getaffinity(0))} or fewer")
    assert not (tmp_path / "run").exists()


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--threads", "0", "greater than or equal to 1"), ("--threads", "-1", "greater than or equal to 1"),
        ("--threads", "two", "valid integer"), ("--threads", "1e30", "valid integer"),
        ("--seed", "-1", "greater than or equal to 0"), ("--seed", str(1 << 40), "setting 'seed'"),
        ("--trials", "0", "--trials"), ("--trials", "nan", "valid integer"), ("--seconds", "nan", "finite"),
        ("--seconds", "inf", "finite"), ("--seconds", "-1", "greater than or equal to 0"),
        ("--vram-gb", "1e308", "setting 'vram_gb'"), ("--build-jobs", "-1", "setting 'build_jobs'"),
        ("--gpu-seconds", "-inf", "finite"), ("--budget-usd", "nan", "finite"), ("--tune", "0", "setting 'tune'"),
    ],
)  # fmt: skip
def test_a_number_that_makes_no_sense(
    klab: Klab, files: Path, tmp_path: Path, flag: str, value: str, words: str
) -> None:
    attempt(klab, files / "cube.py", tmp_path, "--candidate", files / "good.py", flag, value).failed(2, words)


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", ["64", "M=64,N=0", "M=64,K=2", "axb", ""])
def test_a_shape_that_the_task_does_not_have(klab: Klab, tmp_path: Path, shape: str) -> None:
    attempt(klab, "softmax", tmp_path, "--shape", shape).failed(2, f"'{shape}' is not a shape of task softmax", "M=")


def test_a_shape_that_no_machine_holds_is_an_error_not_a_crash(klab: Klab, files: Path, tmp_path: Path) -> None:
    done = klab("run", files / "cube.py", "--candidate", files / "good.py", "--shape", 10**13, "--effort", "quick", "--trials", 1,
                "--out", tmp_path / "run", "--json")  # fmt: skip
    assert done.code in (2, 5), done.err
    done.failed(done.code)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TASK.replace("return 2 * x ** 3", "return 2 * * 3"), ["task.py, line 6"]),
        (TASK.replace("TASK = Task(", "OTHER = Task("), ["task.py defines no TASK", "TASK = Task("]),
        (
            TASK.replace("import numpy as np", "import numpy as np, no_such_module_anywhere"),
            ["line 2", "no_such_module_anywhere"],
        ),
        ("TASK = 3\n", ["defines no TASK"]),
        ("", ["defines no TASK"]),
        (TASK.replace('tune=({"N": 4096},)', "tune=()"), ["no tune shapes"]),
        (TASK.replace("return 2 * x ** 3", "return 0 * x"), ["task 'cube'"]),
        (TASK.replace("return 2 * x ** 3", "return 2 * x ** 3 + np.random.rand()"), ["task 'cube'"]),
        (TASK.replace("return 2 * x ** 3", "return x[1:]"), ["task 'cube'"]),
        (TASK.replace("return 2 * x ** 3", "raise RuntimeError('cannot say')"), ["cannot say"]),
        (TASK.replace('("N",)', '("Q*",)'), ["Q*"]),
    ],
    ids=[
        "syntax",
        "no-task",
        "import",
        "not-a-task",
        "empty",
        "no-shapes",
        "zeros",
        "random",
        "wrong-shape",
        "raises",
        "extent",
    ],
)
def test_a_task_file_that_cannot_be_used_says_where_and_why(
    klab: Klab, files: Path, tmp_path: Path, text: str, words: list[str]
) -> None:
    path = tmp_path / "task.py"
    path.write_text(text)
    attempt(klab, path, tmp_path, "--candidate", files / "good.py").failed(2, *words)


def test_a_task_without_any_candidate_says_how_to_give_one(klab: Klab, files: Path, tmp_path: Path) -> None:
    attempt(klab, files / "cube.py", tmp_path).failed(2, "no candidates for task 'cube'", "--candidate")


def test_a_candidate_file_that_is_no_text(klab: Klab, files: Path, tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00\x80")
    attempt(klab, files / "cube.py", tmp_path, "--candidate", tmp_path / "bytes.py").failed(
        2, "bytes.py cannot be read"
    )
    attempt(klab, files / "cube.py", tmp_path, "--candidate", tmp_path).failed(2, "cannot be read")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("KLAB_EFFORT", "heroic", ["setting 'effort'"]), ("KLAB_THREADS", "0", ["setting 'threads'"]), ("KLAB_SAMPLE_S", "-1", ["setting 'sample_s'"]),
     ("KLAB_COMPILER", "no-such-cc", ["no compiler 'no-such-cc'"]), ("KLAB_SANDBOX", "T7", ["setting 'sandbox'"])],
)  # fmt: skip
def test_a_setting_from_the_environment_that_makes_no_sense(
    klab: Klab, files: Path, tmp_path: Path, name: str, value: str, words: list[str]
) -> None:
    done = klab(
        "run",
        files / "cube.py",
        "--candidate",
        files / "good.py",
        "--out",
        tmp_path / "run",
        "--json",
        env={name: value},
    )
    done.failed(2, *words)
    assert not (tmp_path / "run").exists()


def test_a_settings_file_that_is_no_toml(klab: Klab, tmp_path: Path) -> None:
    (tmp_path / "kernellab").mkdir()
    (tmp_path / "kernellab" / "config.toml").write_text("effort = quick\n")
    klab("run", "softmax", "--out", tmp_path / "run", "--json", env={"XDG_CONFIG_HOME": str(tmp_path)}).failed(
        2, "config.toml"
    )


@pytest.mark.heavy
def test_one_unusable_candidate_does_not_stop_the_others(klab: Klab, files: Path, tmp_path: Path) -> None:
    (tmp_path / "unparsable.py").write_text("def launch(:\n")
    done = klab("run", files / "cube.py", "--shape", 4096, "--effort", "quick", "--trials", 1, "--candidate", tmp_path / "unparsable.py",
                "--candidate", files / "good.py", "--out", tmp_path / "run", "--json")  # fmt: skip
    assert done.code in (0, 3, 7), done.err
    assert done.json["speedup"] > 0


@pytest.mark.heavy
def test_a_run_with_unusable_candidates_only_is_a_usage_error(klab: Klab, files: Path, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def launch(:\n")
    (tmp_path / "two.py").write_text(candidate(head='SPACE = {"PAD": 3}'))
    done = klab("run", files / "cube.py", "--effort", "quick", "--candidate", tmp_path / "one.py", "--candidate", tmp_path / "two.py",
                "--out", tmp_path / "run", "--json")  # fmt: skip
    done.failed(2, "one: ", "two: ", "docs/candidates.md")


def test_a_warm_start_from_a_folder_that_is_no_run(klab: Klab, files: Path, tmp_path: Path) -> None:
    """Nothing has begun, so that the corrected command may use the same folder."""
    done = klab(
        "run",
        files / "cube.py",
        "--candidate",
        files / "good.py",
        "--warm-start",
        tmp_path,
        "--out",
        tmp_path / "run",
        "--json",
    )
    assert done.code in (2, 5), done.err
    done.failed(done.code, "holds no ledger")
    assert not (tmp_path / "run").exists()


def test_a_fix_names_only_commands_that_exist(klab: Klab) -> None:
    help_text = klab("--help").out
    sources = Path(kernellab.__file__).parent.rglob("*.py")
    named = {word for path in sources for word in re.findall(r"\bklab ([a-z]+(?:-[a-z]+)*)\b", path.read_text())}
    assert not {word for word in named if f" {word} " not in help_text}
