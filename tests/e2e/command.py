"""klab as its users meet it: a real process with its exit code, its two streams and its last line of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any

from tests.support.home import settle

WARM = Path(__file__).with_name("warm.py")
KLAB = str(Path(sys.executable).with_name("klab"))
SAMPLE_S = "0.0001"
_LATE = ("KLAB_", "XDG_", "OPENAI_", "GIT_", "HOME", "PATH", "COLUMNS")
"""Variables that are read when a command needs them, not while it is loaded."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str
    session: int = 0
    """Of its processes, unless they left it."""
    cpu_s: float = 0.0
    """Processor time that it and its processes took, where it was forked."""

    @property
    def json(self) -> dict[str, Any]:
        """The object on the last line of standard output."""
        data = json.loads(self.out.splitlines()[-1])
        assert isinstance(data, dict)
        return data

    def failed(self, code: int, *words: str) -> Done:
        """It ended with this code, said what is wrong in these words, and how to mend it; in JSON too where asked for."""
        assert self.code == code, f"exit code {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.out + self.err
        lines = self.err.splitlines()
        fixes = [line for line in lines if line.startswith("fix:")]
        assert len(fixes) == 1, self.err
        assert len(fixes[0]) > len("fix:  "), self.err
        for word in words:
            assert word in self.err, self.err
        return self


class Klab:
    """Runs klab with folders and settings of its own; nothing of the user's is read or written. What commands are forked from
    has also loaded what `loads` names."""

    def __init__(self, home: Path, code: Path, loads: Sequence[str] = ()) -> None:
        self._loads = loads
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KLAB_", "XDG_")) and "COLUMNS" not in k}
        self.environment: dict[str, str] = {
            **kept, **settle(home, code), "KLAB_HOME": str(home / "klab"), "KLAB_SAMPLE_S": SAMPLE_S, "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        self._lock = Lock()
        self._idle: list[subprocess.Popen[str]] = []

    def __call__(
        self, *arguments: object, cwd: Path | None = None, env: Mapping[str, str | None] | None = None,
        before: Sequence[str] = (),
    ) -> Done:  # fmt: skip
        """`before` is a command that starts klab in its turn; an environment variable of None is left out.

        Without such a command, and with variables alone that are read late, it is forked from one that has loaded already.
        """
        command = [*before, KLAB, *map(str, arguments)]
        if not before and all(name.startswith(_LATE) for name in env or ()):
            return self._forked(command, cwd or Path.cwd(), self.with_(env))
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=cwd, env=self.with_(env), check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def _forked(self, command: list[str], cwd: Path, environment: dict[str, str]) -> Done:
        with self._lock:
            warm = self._idle.pop() if self._idle else self._loaded()
        assert warm.stdin
        assert warm.stdout
        with NamedTemporaryFile("r") as out, NamedTemporaryFile("r") as err:
            request = {
                "arguments": command,
                "cwd": str(cwd),
                "environment": environment,
                "out": out.name,
                "err": err.name,
            }
            warm.stdin.write(json.dumps(request) + "\n")
            warm.stdin.flush()
            code, session, cpu_s = warm.stdout.readline().split()
            with self._lock:
                self._idle.append(warm)
            return Done(int(code), out.read(), err.read(), int(session), float(cpu_s))

    def _loaded(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", str(WARM), *self._loads], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=self.environment,
        )  # fmt: skip

    def close(self) -> None:
        for warm in self._idle:
            warm.communicate()

    def start(
        self, *arguments: object, cwd: Path | None = None, env: Mapping[str, str | None] | None = None
    ) -> subprocess.Popen[str]:
        """In a session of its own, so that what it leaves behind can be found."""
        return subprocess.Popen(
            [KLAB, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
            env=self.with_(env), start_new_session=True, stdin=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
        )  # fmt: skip

    def with_(self, changes: Mapping[str, str | None] | None) -> dict[str, str]:
        merged: dict[str, str | None] = {**self.environment, **(changes or {})}
        return {k: v for k, v in merged.items() if v is not None}


def wait_until(condition: Callable[[], bool], seconds: float = 600) -> None:
    """Looks often; fails when the condition does not come true: long after a busy machine would have brought it about."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "this did not come about in time"
        time.sleep(0.01)


def living(session: int) -> list[int]:
    """Processes of this session that are there still."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if (fields := _stat(pid)) and int(fields[3]) == session and fields[0] != "Z"]


def offspring(ancestor: int) -> set[tuple[int, str]]:
    """Everything that descends from a process now, as (pid, start time), which names a process for ever."""
    parents: dict[int, int] = {}
    born: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents[int(entry.name)], born[int(entry.name)] = int(fields[1]), fields[19]
    found = {ancestor}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {(pid, born[pid]) for pid in found - {ancestor}}


def alive(processes: set[tuple[int, str]]) -> set[int]:
    return {pid for pid, start in processes if (fields := _stat(pid)) and fields[19] == start and fields[0] != "Z"}


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; none for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def interrupt(process: subprocess.Popen[str]) -> None:
    """What Ctrl-C does: the signal goes to the whole foreground process group."""
    os.killpg(process.pid, signal.SIGINT)
