"""Cheats must be caught and honest kernels pass: a folder of one's own through the command, and the shipped gauntlet,
a sample of it or, with --all, the whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernellab.core.settings import Settings
from kernellab.run.driver import present
from kernellab.search.gauntlet import BUSY, Entry, builtin_folder, collect, run_gauntlet, runnable, sample, summary

from .command import Klab
from .conftest import CANDIDATES, KERNEL, TASK, candidate

pytestmark = pytest.mark.backend_c
SAMPLE = 3
REMEMBERS = candidate(
    "#include <string.h>\nstatic float kept[8192]; static long size;\n"
    "void cube(const float *x, float *y, long n) {"
    " if (size == n && n <= 8192) { memcpy(y, kept, 4 * n); return; }"
    " for (long i = 0; i < n; i++) y[i] = 2 * (x[i] * x[i] * x[i]);"
    " if (n <= 8192) { size = n; memcpy(kept, y, 4 * n); } }"
)


@pytest.mark.heavy
def test_a_folder_of_ones_own_is_judged(klab: Klab, tmp_path: Path) -> None:
    (tmp_path / "cube.py").write_text(TASK)
    for name, text in {
        "cheats/remembers": REMEMBERS,
        "cheats/wrong": CANDIDATES["wrong"],
        "honest/plain": candidate(KERNEL),
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'TASK = "{tmp_path / "cube.py"}"\n' + text)
    done = klab(
        "doctor",
        "--gauntlet",
        "--only-given",
        "--cheats",
        tmp_path / "cheats",
        "--honest",
        tmp_path / "honest",
        "--json",
    )
    assert done.code == 0, done.out
    busy = done.json["busy"]
    assert done.json["caught"] + done.json["honest"] + busy == 3
    assert (done.json["missed"], done.json["false_alarms"]) == (0, 0)
    assert {r["name"] for r in done.json["rows"] if r["kind"] == "cheat"} == {"remembers", "wrong"}
    assert list(done.json["escape"]["probability"]) == ["1/2", "1/8", "1/16", "1/64"]
    assert "[   3/3]" in done.err
    assert "[   3/3]" not in done.out


@pytest.mark.heavy
def test_a_missed_cheat_and_a_false_alarm_fail_the_doctor(klab: Klab, tmp_path: Path) -> None:
    (tmp_path / "cube.py").write_text(TASK)
    for name, text in {"honest/wrong": CANDIDATES["wrong"], "cheats/plain": candidate(KERNEL)}.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'TASK = "{tmp_path / "cube.py"}"\n' + text)
    done = klab(
        "doctor",
        "--gauntlet",
        "--only-given",
        "--cheats",
        tmp_path / "cheats",
        "--honest",
        tmp_path / "honest",
        "--json",
    )
    assert (done.code, done.json["status"]) == (5, "failed")
    assert {k: done.json[k] for k in ("caught", "missed", "false_alarms", "honest")} == {
        "caught": 0,
        "missed": 1,
        "false_alarms": 1,
        "honest": 1,
    }


@pytest.mark.heavy
@pytest.mark.skipif(present(), reason="there is a GPU here")
def test_what_only_a_gpu_can_decide_is_left_out_and_counted(klab: Klab, tmp_path: Path) -> None:
    """Not deciding is no praise: the number is said, to people and to programs."""
    gpu = builtin_folder() / "gpu"
    given = ["--only-given", "--cheats", gpu / "cheat_flags_output.py", "--cheats", gpu / "cheat_nan.py",
             "--honest", gpu / "honest_triton_f16.py"]  # fmt: skip
    done = klab("doctor", "--gauntlet", *given, "--json")
    assert done.code == 0, done.err
    assert {k: done.json[k] for k in ("caught", "missed", "honest", "left_out")} == {
        "caught": 1, "missed": 0, "honest": 0, "left_out": 2,
    }  # fmt: skip
    assert [(r["name"], r["device"], r["status"]) for r in done.json["rows"]] == [
        ("cheat_flags_output", "cuda", "build-failed")
    ]
    told = klab("doctor", "--gauntlet", *given).out
    assert "2 more need a GPU" in told
    assert "escapes a confirmation at effort standard" in told
    assert "(share 1/64)" in told


@pytest.mark.heavy
def test_a_sample_is_drawn_by_its_seed_and_says_it(klab: Klab, tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.py").write_text(
            'SOURCE = "int"\nFLAGS = ["-fplugin=x"]\n\n\ndef launch(x, y): kernel("k")(x)\n'
        )
    given = ["--gauntlet", "--only-given", "--cheats", tmp_path, "--sample", "2"]
    first = klab("doctor", *given, "--json")
    assert (first.code, first.json["caught"], first.json["sample"]) == (0, 2, 2)
    assert f"2 files drawn with --seed {first.json['seed']}" in first.err
    again = klab("doctor", *given, "--seed", str(first.json["seed"]), "--json")
    assert [r["name"] for r in again.json["rows"]] == [r["name"] for r in first.json["rows"]]


def drawn(request: pytest.FixtureRequest) -> list[Entry]:
    """What this machine can decide: with --all everything, else a sample by this session's seed."""
    entries = runnable(collect([], []), Settings())
    if request.config.getoption("--all"):
        return entries
    return sample(entries, SAMPLE, request.config.getoption("--sample-seed"))


@pytest.mark.timeout(7200)
def test_no_shipped_cheat_is_missed_and_no_honest_kernel_rejected(request: pytest.FixtureRequest) -> None:
    """And each cheat is caught by a cause that its file names."""
    entries = drawn(request)
    rows = {(row.device, row.name): row for row in run_gauntlet(entries, Settings())}
    wrong = [f"{r.kind} {r.name}: {r.status} {r.cause} {r.reason}" for r in rows.values() if r.wrong]
    for entry in entries:
        row = rows[entry.device, entry.path.stem]
        caught = entry.kind == "cheat" and row.status not in ("harmless", "passed", BUSY)
        if caught and row.cause not in entry.caught_by:
            wrong.append(f"{row.name}: caught by {row.cause} ({row.reason}), its file says {entry.caught_by}")
    assert not wrong, "\n".join(wrong)
    counts = summary(list(rows.values()))
    assert (counts["missed"], counts["false_alarms"]) == (0, 0)


def test_it_is_large_and_holds_attacks_that_no_catalogue_had() -> None:
    entries = runnable(collect([], []), Settings())
    cheats = [e for e in entries if e.kind == "cheat"]
    new = [e for e in cheats if re.search(r"^catalogue:\s*new", e.path.read_text(errors="replace"), re.M)]
    assert len(cheats) >= 280
    assert len(new) >= 70
    assert sum(e.kind == "honest" for e in entries) >= 70
