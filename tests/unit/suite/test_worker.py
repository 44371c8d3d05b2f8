"""Workers that are lost, hang, or are left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.command import wait_until
from tests.support.recorded import GENESIS

from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.suite.worker import Worker, WorkerLost, _event, told

HOUR = 3600.0


def job(folder: Path) -> dict[str, Any]:
    return {"job": "run", "record": "absent.json", "folder": str(folder / "run"), "settings": {}, "candidates": []}


@pytest.mark.heavy
def test_a_foreseen_fault_comes_back_as_it_was_and_the_worker_stays(tmp_path: Path) -> None:
    with Worker({"folders": []}) as worker:
        for _ in range(2):
            with pytest.raises(UsageError, match=r"there is no task 'absent\.json'") as caught:
                worker.ask(job(tmp_path), HOUR)
        assert caught.value.fix


@pytest.mark.heavy
def test_a_lost_worker_says_how_it_ended_and_is_replaced(tmp_path: Path) -> None:
    with Worker({"folders": []}) as worker:
        with pytest.raises(WorkerLost, match=r"its process ended with exit code 1: AttributeError"):
            worker.ask({"job": "nothing"}, HOUR)
        with pytest.raises(UsageError):
            worker.ask(job(tmp_path), HOUR)


def test_a_worker_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with Worker({"folders": []}) as worker:
        with pytest.raises(WorkerLost, match="it did not end within 0 s"):
            worker.ask(job(tmp_path), 0.0)
        assert worker._process is None


@pytest.mark.heavy
def test_a_worker_whose_owner_is_killed_ends_itself() -> None:
    """The owner starts a worker, gives it a job that waits for a pipe, and is killed."""
    script = """
import os, subprocess, sys
read, write = os.pipe()
child = subprocess.Popen([sys.executable, "-c", '''
import sys, threading
from kernellab.suite import worker_job
worker_job._Jobs.wait = lambda self, job, emit: threading.Event().wait()
sys.exit(worker_job.main())
'''], stdin=subprocess.PIPE)
child.stdin.write(b'{"folders": []}\\n{"job": "wait"}\\n')
child.stdin.flush()
print(child.pid, flush=True)
child.wait()
"""
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    wait_until(lambda: _gone(pid))


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_events_are_the_same_on_the_other_side() -> None:
    stage = Event("stage", "softmax M=2", {"dims": {"M": 2}, "trials": 3})
    assert _event(json.loads(json.dumps(told(stage)))) == stage
    confirming = Event("confirming", "confirming trial 0", {"trial": 0})
    assert _event(json.loads(json.dumps(told(confirming)))) == confirming


def test_a_task_that_starts_is_news_and_nothing_to_be_resumed() -> None:
    started = Event("start", "run 1 in a folder", {"folder": "runs/a", "task": GENESIS["task"]})
    assert _event(told(started)) == Event("note", "run 1 in a folder")
    assert _event(told(Event("end", "better", {}))) == Event("note", "")
