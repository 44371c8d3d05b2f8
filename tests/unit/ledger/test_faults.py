"""Real kills, real full disks, real missing rights, each in a process of its own."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.ledger.check import check
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import SigningKey, load_or_create_key

PRELUDE = """
import os, resource, sys
from pathlib import Path
from kernellab.core.errors import EnvironmentFault, LedgerFault
from kernellab.ledger.check import check
from kernellab.ledger.run import Run
from kernellab.ledger.journal import Ledger, read_entries
from kernellab.ledger.keys import load_or_create_key
folder = Path(sys.argv[1])
key = load_or_create_key(Path(sys.argv[2]))
"""


def python(script: str, *args: Path | str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + script, *map(str, args)]


def output(script: str, *args: Path | str) -> str:
    done = subprocess.run(python(script, *args), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def writes_for_ever(folder: Path, key: SigningKey, acknowledge: int, batched: bool) -> None:
    """In a fork: appends, and says each one's number when it is there."""
    ledger = Ledger.resume(folder, key)
    with ledger.batch() if batched else nullcontext():
        while True:
            seq = ledger.append("trial", {"trial": ledger.size, "samples": [0.1] * 200}).seq
            os.write(acknowledge, b"%d\n" % seq)


def killed_after(folder: Path, key: SigningKey, delay_s: float, batched: bool = False) -> list[int]:
    """The sequence numbers which a writer acknowledged before kill -9 struck, `delay_s` after the first."""
    said, acknowledge = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            writes_for_ever(folder, key, acknowledge, batched)
        finally:
            os._exit(1)
    os.close(acknowledge)
    assert select.select([said], [], [], 600)[0], "the writer never wrote"
    deadline, told = time.monotonic() + delay_s, b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([said], [], [], left)[0]:
            told += os.read(said, 65536)
    os.kill(child, signal.SIGKILL)
    with open(said, "rb") as pipe:
        told += pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return [int(line) for line in told.split(b"\n")[:-1]]


def test_kill_9_at_random_moments_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Twenty times; a ledger has five of them, and is read whole after each."""
    key, rng, told = SigningKey.generate(), random.Random(7), 0
    for number in range(4):
        folder = tmp_path / f"run-{number}"
        Ledger.create(folder, {}, key).close()
        acknowledged: set[int] = set()
        for _ in range(5):
            acknowledged |= set(killed_after(folder, key, rng.uniform(0, 0.03)))
            Ledger.resume(folder, key).close()
            report = check(folder)
            assert (report.problems, report.torn) == ((), False)
            kinds = {entry.seq: entry.kind for entry in read_entries(folder)}
            assert all(kinds.get(seq) == "trial" for seq in acknowledged)
        told += len(acknowledged)
    assert told > 20


def appends_until_killed(folder: Path, key: SigningKey, acknowledge: int, fatal: int) -> None:
    """In a fork: three appends, and kill -9 at the `fatal`-th moment that a write begins or is done."""
    ledger, seen = Ledger.resume(folder, key), 0

    def strike(_frame: object, event: str, function: object) -> None:
        nonlocal seen
        if event in ("c_call", "c_return") and function is os.write:
            seen += 1
            if seen == fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(strike)
    for _ in range(3):
        os.write(acknowledge, bytes([ledger.append("trial", {}).seq]))
    os._exit(0)


@pytest.mark.parametrize("fatal", range(1, 19))
def test_kill_9_before_and_after_every_single_write_is_survived(tmp_path: Path, fatal: int) -> None:
    key = SigningKey.generate()
    Ledger.create(tmp_path / "run", {}, key).close()
    told, acknowledge = os.pipe()
    child = os.fork()
    if child == 0:
        appends_until_killed(tmp_path / "run", key, acknowledge, fatal)
    os.close(acknowledge)
    with open(told, "rb") as pipe:
        acknowledged = set(pipe.read())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    Ledger.resume(tmp_path / "run", key).close()
    assert (check(tmp_path / "run").problems, check(tmp_path / "run").torn) == ((), False)
    assert acknowledged <= {entry.seq for entry in read_entries(tmp_path / "run") if entry.kind == "trial"}


def test_kill_9_inside_a_batch_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    folder, key = tmp_path / "run", SigningKey.generate()
    Ledger.create(folder, {}, key).close()
    acknowledged = killed_after(folder, key, 0.02, batched=True)
    assert check(folder).heads == 1
    Ledger.resume(folder, key).close()
    assert check(folder).problems == ()
    entries = list(read_entries(folder))
    assert set(acknowledged) <= {entry.seq for entry in entries if entry.kind == "trial"}
    assert entries[-1].body == {"first": 1, "last": len(entries) - 2}


SMALL_FILES = """
def fill(): resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
def free(): resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
SMALL_DISK = """
import shutil, subprocess
def fill(): pass
def free(): subprocess.run(["mount", "-o", "remount,size=1m", str(folder.parent)], check=True)
"""
FILL_THEN_GO_ON = """
body = {"text": "x" * int(sys.argv[4])}
ledger = Ledger.create(folder, {}, key)
fill()
faults = []
while len(faults) < 3:
    before = ledger.size, ledger.root
    try:
        ledger.append("trial", body)
    except LedgerFault as fault:
        faults.append(fault.fix)
        assert (ledger.size, ledger.root) == before
        assert check(folder).problems == () and not check(folder).torn, check(folder)
free()
ledger.append("trial", {"text": "there is room again"})
ledger.close()
print(faults[0])
"""


@pytest.mark.parametrize("limit", [20_000, 20_301, 20_702])
def test_a_write_cut_short_leaves_no_trace_and_the_next_append_succeeds(tmp_path: Path, limit: int) -> None:
    folder = tmp_path / "run"
    told = output(SMALL_FILES + FILL_THEN_GO_ON, folder, tmp_path / "signing-key", str(limit), "700")
    assert f"klab resume {folder}" in told
    assert (check(folder).problems, check(folder).torn) == ((), False)
    assert list(read_entries(folder))[-1].body == {"text": "there is room again"}


def test_a_head_that_cannot_be_written_takes_its_entry_back(tmp_path: Path) -> None:
    """Tiny entries: the heads file, at some 290 bytes a line, reaches the limit first."""
    folder = tmp_path / "run"
    output(SMALL_FILES + FILL_THEN_GO_ON, folder, tmp_path / "signing-key", "20000", "1")
    report = check(folder)
    assert (folder / "heads.jsonl").stat().st_size > (folder / "ledger.jsonl").stat().st_size
    assert (report.problems, report.torn, report.size) == ((), False, report.heads)


def test_a_run_that_cannot_even_start_leaves_the_folder_free_for_another_try(tmp_path: Path) -> None:
    script = """
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    Ledger.create(folder, {"text": "x" * 700}, key)
except EnvironmentFault as fault:
    print(fault.what, "|", fault.fix)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
Ledger.create(folder, {}, key).close()
"""
    assert "--out" in output(script, tmp_path / "run", tmp_path / "signing-key")
    assert check(tmp_path / "run").problems == ()


INTERRUPTED = """
import random, signal
def strike(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, strike)
rng, struck, returned = random.Random(3), 0, []
ledger = Ledger.create(folder, {}, key)
while struck < 300:
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-3))
        while True:
            returned.append(ledger.append("trial", {"samples": [0.1] * 50}))
    except KeyboardInterrupt:
        struck += 1
entries = list(read_entries(folder))
ledger.close()
assert len(returned) > 50 and all(entries[entry.seq] == entry for entry in returned)
print(check(folder).problems, check(folder).torn)
"""


def test_ctrl_c_at_any_moment_leaves_a_ledger_that_goes_on(tmp_path: Path) -> None:
    assert output(INTERRUPTED, tmp_path / "run", tmp_path / "signing-key") == "() False\n"


def tmpfs_can_be_mounted() -> bool:
    probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", "/mnt"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not tmpfs_can_be_mounted(), reason="needs user namespaces; the RLIMIT tests run everywhere")
def test_a_disk_that_is_really_full_is_survived(tmp_path: Path) -> None:
    script = SMALL_DISK + FILL_THEN_GO_ON + "shutil.copytree(folder, sys.argv[3])"
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    inside = 'mount -t tmpfs -o size=256k tmpfs "$1" && shift && exec "$@"'
    command = python(script, disk / "run", tmp_path / "signing-key", copy, "700")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", inside, "sh", str(disk), *command],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "free space" in done.stdout
    assert (check(copy).problems, check(copy).torn) == ((), False)
    assert list(read_entries(copy))[-1].body == {"text": "there is room again"}


def test_a_writer_in_another_process_is_named_by_its_pid(tmp_path: Path) -> None:
    folder, key_path = tmp_path / "run", tmp_path / "signing-key"
    key = load_or_create_key(key_path)
    Ledger.create(folder, {}, key).close()
    hold = "ledger = Ledger.resume(folder, key)\nprint('held', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(python(hold, folder, key_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(LedgerFault, match=f"process {child.pid}"):
            Ledger.resume(folder, key)
        child.kill()
    Ledger.resume(folder, key).close()


def test_a_folder_that_cannot_be_made_is_an_environment_fault_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault) as fault:
        Ledger.create(tmp_path / "file" / "run", {}, load_or_create_key(tmp_path / "signing-key"))
    assert "--out" in fault.value.fix
    assert not isinstance(fault.value, LedgerFault)


READ_ONLY = """
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
for attempt in (lambda: Ledger.create(folder / "new", {}, key), lambda: Ledger.resume(folder, key)):
    try:
        attempt()
    except EnvironmentFault as fault:
        assert type(fault) is EnvironmentFault and "--out" in fault.fix
        print("refused")
print(check(folder).problems, sum(1 for _ in read_entries(folder)), Run(folder).kinds)
"""


def test_a_read_only_run_can_be_read_and_checked_but_not_written(run: Path) -> None:
    with tempfile.TemporaryDirectory() as outside:  # pytest's own folders are closed to other users
        Path(outside).chmod(0o755)
        folder = Path(outside) / "run"
        shutil.copytree(run, folder)
        folder.chmod(0o555)
        try:
            told = output(READ_ONLY, folder, run.parent / "signing-key").splitlines()
        finally:
            folder.chmod(0o755)
    assert told == ["refused", "refused", "() 10 ['run', 'trial']"]
