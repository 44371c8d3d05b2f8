"""What people see: a line an event in a pipe, a live screen on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import KLAB, Klab
from .conftest import Recorded

pytestmark = pytest.mark.backend_c


@pytest.mark.heavy
def test_in_a_pipe_every_trial_is_a_line_and_the_result_a_table(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    done = klab(*search(tmp_path / "run", "good", "wrong", "broken", trials=3), env={"COLUMNS": "100"})
    assert done.code in (0, 3, 7), done.err
    assert done.err == ""
    assert "\x1b" not in done.out
    trials = re.findall(r"^\[ *[0-9.]+s\] #(\d+) +(\w+) +(.*)$", done.out, re.M)
    assert [(n, name) for n, name, _ in trials] == [("0", "good"), ("1", "wrong"), ("2", "broken")]
    assert re.search(r"\dx \[.*% of floor", trials[0][2])
    assert trials[1][2].startswith("rejected: wrong-output: ")
    assert trials[2][2].startswith("build-failed: ")
    assert re.search(r"confirmation of #0 .*[1-9][0-9]* pairs", done.out)
    assert "speed-up [95 %]" in done.out
    assert "numpy, f32, 1 thr" in done.out
    assert re.search(r"^ledger root [0-9a-f]{64}$", done.out, re.M)


def on_a_terminal(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and everything that went to a terminal of 100 columns."""
    master, slave = pty.openpty()
    size = {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env={**environment, **size}, start_new_session=True
    )
    os.close(slave)
    seen, until = b"", time.monotonic() + 900
    try:
        while time.monotonic() < until:
            if select.select([master], [], [], 1)[0]:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # the other end is closed: that is how a terminal ends
                    break
                seen += piece
    finally:
        os.close(master)
        if process.poll() is None and time.monotonic() >= until:
            process.kill()
    return process.wait(), seen.decode(errors="replace")


@pytest.mark.heavy
def test_on_a_terminal_the_screen_is_live_and_the_result_stays(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    arguments = [str(a) for a in search(tmp_path / "run", "good", "wrong", trials=2)]
    code, screen = on_a_terminal([KLAB, *arguments], klab.environment)
    assert code in (0, 3, 7), screen
    assert "Traceback" not in screen
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)
    assert "best so far" in plain
    assert re.search(r"trial 0 (beats|does not beat) the fastest baseline: [0-9.]+x of numpy", plain)
    assert re.search(r"^ledger root [0-9a-f]{64}", plain, re.M)
    assert screen.count("\x1b[?25l") == screen.count("\x1b[?25h"), "the cursor is shown again"


@pytest.mark.heavy
def test_an_error_on_a_terminal_leaves_the_cursor_and_names_the_fix(klab: Klab, files: Path) -> None:
    code, screen = on_a_terminal(
        [KLAB, "run", str(files / "cube.py"), "--candidate", str(files / "good.py"), "--device", "tpu"],
        klab.environment,
    )
    assert code == 2
    assert "(given: 'tpu')" in screen
    assert "fix:" in screen
    assert screen.count("\x1b[?25l") == screen.count("\x1b[?25h")


@pytest.mark.heavy
def test_show_tells_the_fate_of_every_trial(klab: Klab, recorded: Recorded) -> None:
    done = klab("show", recorded.folder, env={"COLUMNS": "120"})
    assert done.code == 0
    for words in (
        "rejected: wrong-output",
        "invalid: a combination that makes no sense",
        "build-failed: ",
        "same machine code as #0",
        "x [",
    ):
        assert words in done.out
    confirmed = klab("show", recorded.folder, "--json").json["confirmed"]
    marked = [line for line in done.out.splitlines() if line.startswith("#") and " confirmed" in line]
    assert [int(line[1:].split()[0]) for line in marked] == sorted(confirmed)
    assert re.search(rf"│ +#({'|'.join(map(str, confirmed))})$", done.out, re.M)
    one = klab("show", recorded.folder, "--trial", recorded.trial("measured"))
    assert '"speedup_low"' in one.out
    assert "def launch" in one.out


@pytest.mark.heavy
def test_a_verdict_for_people(klab: Klab, files: Path, tmp_path: Path) -> None:
    done = klab(
        "verify",
        files / "wrong.py",
        "--task",
        files / "cube.py",
        "--shape",
        4096,
        "--out",
        tmp_path / "run",
        env={"COLUMNS": "100"},
    )
    assert done.code == 4
    assert "REJECTED" in done.out
    assert "wrong-output" in done.out
    assert "trust native, sandbox T" in done.out


def test_output_into_a_closed_pipe_is_not_an_accident(klab: Klab) -> None:
    done = subprocess.run(
        f"{KLAB} tasks | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env=klab.environment,
        check=False,
    )
    assert "Traceback" not in done.stderr
