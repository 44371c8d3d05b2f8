"""A full disk under the ledger: the run stops with a fix, what is recorded is sound, and with more space it goes on."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .command import KLAB, Klab
from .conftest import Recorded

pytestmark = pytest.mark.backend_c
TRIALS = 6
# The disk has half the space that the same run takes when nothing limits it. Machine code is most of it, and its size is
# another on every machine; what comes before the first trial is far less than half.

SCRIPT = """
mount -t tmpfs -o size=64m tmpfs "$DISK" || exit 99
"$@" >"$NOTES/whole.out" 2>"$NOTES/whole.err"; echo $? >"$NOTES/whole.code"
used=$(df -k "$DISK" | awk 'END { print $3 }')
umount "$DISK" && mount -t tmpfs -o size=$((used / 2))k tmpfs "$DISK" || exit 99
"$@" >"$NOTES/run.out" 2>"$NOTES/run.err"; echo $? >"$NOTES/run.code"
"$KLAB" audit "$DISK/run" --json >"$NOTES/audit.out" 2>"$NOTES/audit.err"; echo $? >"$NOTES/audit.code"
mount -o remount,size=64m "$DISK"
"$KLAB" resume "$DISK/run" --json >"$NOTES/resume.out" 2>"$NOTES/resume.err"; echo $? >"$NOTES/resume.code"
"$KLAB" audit "$DISK/run" --json >"$NOTES/again.out" 2>"$NOTES/again.err"; echo $? >"$NOTES/again.code"
"""


def namespaces() -> list[str]:
    """The command that gives a private set of mounts here, or nothing."""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        try:
            done = subprocess.run(
                [*command, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"], capture_output=True, check=False
            )
        except OSError:
            return []
        if done.returncode == 0:
            return command
    return []


@pytest.mark.slow
@pytest.mark.skipif(not namespaces(), reason="no private mounts on this machine")
def test_a_full_disk_stops_the_run_with_a_fix_and_more_space_lets_it_go_on(
    klab: Klab, search: Callable[..., list[object]], tmp_path: Path
) -> None:
    disk, notes = tmp_path / "disk", tmp_path / "notes"
    disk.mkdir()
    notes.mkdir()
    arguments = [str(a) for a in (*search(disk / "run", "good", trials=TRIALS), "--json")]
    environment = {**klab.environment, "DISK": str(disk), "NOTES": str(notes), "KLAB": KLAB}
    done = subprocess.run(
        [*namespaces(), "sh", "-c", SCRIPT, "sh", KLAB, *arguments],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 99, done.stderr
    assert os.listdir(disk) == []

    def said(name: str) -> tuple[int, dict[str, Any], str]:
        code, out, err = ((notes / f"{name}.{part}").read_text() for part in ("code", "out", "err"))
        return int(code), json.loads(out.splitlines()[-1]), err

    code, data, err = said("whole")
    assert code in (0, 3, 7), err
    code, data, err = said("run")
    assert code == 5, err
    assert "Traceback" not in err
    assert "No space left" in err
    assert "fix:  free space" in err
    assert data["status"] == "error"
    code, data, err = said("audit")
    assert (code, data["problems"], data["ended"]) == (0, [], False)
    before = data["trials"]
    assert before < TRIALS
    code, data, err = said("resume")
    assert code in (0, 3, 7), err
    assert data["speedup"] > 0
    code, data, err = said("again")
    assert (code, data["problems"], data["ended"], data["trials"]) == (0, [], True, TRIALS)


PAGES = """
mount -t tmpfs -o size=64k tmpfs "$DISK" || exit 99
cp "$PAGE" "$DISK/page.md"
head -c 1000000 /dev/zero >"$DISK/filling" 2>/dev/null
cd "$DISK"
for command in "init mine" "study new mine" "results $RUN --out page.md"; do
    "$KLAB" $command >>"$NOTES/out" 2>>"$NOTES/err"; echo $? >>"$NOTES/codes"
done
ls -A >"$NOTES/left"
cp page.md "$NOTES/page.md"
"""


@pytest.mark.skipif(not namespaces(), reason="no private mounts on this machine")
def test_a_full_disk_leaves_no_half_written_page_and_the_file_is_named(
    klab: Klab, recorded: Recorded, tmp_path: Path
) -> None:
    disk, notes, page = tmp_path / "disk", tmp_path / "notes", tmp_path / "good.md"
    disk.mkdir()
    notes.mkdir()
    page.write_text("a good page\n")
    environment = {**klab.environment, "DISK": str(disk), "NOTES": str(notes), "KLAB": KLAB, "PAGE": str(page),
                   "RUN": str(recorded.folder)}  # fmt: skip
    done = subprocess.run([*namespaces(), "sh", "-c", PAGES], env=environment, capture_output=True, check=False)
    assert done.returncode != 99, done.stderr
    err = (notes / "err").read_text()
    assert (notes / "codes").read_text().split() == ["5", "5", "5"], err
    assert [f"cannot write {n}: No space left" in err for n in ("mine.py", "mine.toml", "page.md")] == [True] * 3, err
    assert (notes / "left").read_text().split() == ["filling", "page.md"]
    assert (notes / "page.md").read_text() == "a good page\n"
