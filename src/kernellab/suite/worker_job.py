"""The other side of a worker: reads jobs from its input, a line each, and answers each with a line.

What libraries print goes to the log. When the input ends while a job is running, whoever asked was killed: the process
ends at once, and what it was writing is what any killed run leaves behind.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import KlabError
from kernellab.core.events import Event, Listener
from kernellab.core.settings import Settings
from kernellab.suite.filter import check_problem
from kernellab.suite.one_task import run_task
from kernellab.suite.problems import problem_of
from kernellab.suite.worker import told
from kernellab.tasks.modules.importing import Importer
from kernellab.tasks.modules.locate import write_record
from kernellab.tasks.modules.record import read_module_record
from kernellab.tasks.modules.wishes import Wishes

_BESIDE = 10
"""The niceness of a worker that works beside timed kernels."""


class _Jobs:
    """What jobs share: the capture sandbox, opened by the first that needs it."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._folders: list[str] = setup["folders"]
        if setup.get("nice"):
            os.nice(_BESIDE)
            # Read when torch is imported. A loop that waits for a thread on every core waits for whoever has the cores.
            os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // 4)))
        self._importer: Importer | None = None

    def check(self, job: dict[str, Any], _: Listener) -> dict[str, Any]:
        """`keep`: the folder that a task's record is written to, or nothing. `like`: a record whose shapes it is to have."""
        if self._importer is None:
            self._importer = Importer(self._folders)
        like = read_module_record(job["like"]) if job["like"] else None
        wishes = Wishes(job["eval_mode"], job["precision"], like=like, keep_text=job["texts"])
        problem = problem_of(job["problem"])
        found = check_problem(self._importer, problem, wishes, job["device"], job["both_modes"])
        kept = write_record(found.record, Path(job["keep"])) if job["keep"] and found.record else ""
        return {"checked": found.checked.model_dump(mode="json"), "record": kept}

    def run(self, job: dict[str, Any], emit: Listener) -> dict[str, Any]:
        candidates = [Candidate(text, name) for name, text in job["candidates"]]
        settings = Settings(**job["settings"])
        return run_task(job["record"], settings, Path(job["folder"]), candidates, emit).data()

    def close(self) -> None:
        if self._importer is not None:
            self._importer.close()


def main() -> int:
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(inbox, busy), daemon=True).start()
    setup = inbox.get()
    if setup is None:
        return 0
    jobs = _Jobs(setup)
    try:
        while (job := inbox.get()) is not None:
            action: Callable[[dict[str, Any], Listener], dict[str, Any]] = getattr(jobs, job["job"])
            answer = _answer(action, job, lambda event: _send(replies, told(event)))
            busy.clear()  # before the answer: the next job may come at once
            _send(replies, answer)
    finally:
        jobs.close()
        gc.freeze()  # the interpreter looks through everything before it ends: with torch imported, for half a second
    return 0


def _listen(inbox: queue.SimpleQueue[dict[str, Any] | None], busy: threading.Event) -> None:
    for number, line in enumerate(_lines(0)):
        if number:
            busy.set()
        inbox.put(json.loads(line))
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGKILL)
    inbox.put(None)


def _lines(fd: int) -> Iterator[bytes]:
    """Read without a buffer of Python's own, whose lock a thread would still hold when the interpreter ends."""
    unread = b""
    while data := os.read(fd, 1 << 16):
        *whole, unread = (unread + data).split(b"\n")
        yield from whole


def _answer(
    action: Callable[[dict[str, Any], Listener], dict[str, Any]], job: dict[str, Any], emit: Callable[[Event], None]
) -> dict[str, Any]:
    try:
        return {"reply": action(job, emit)}
    except KlabError as fault:
        return {"error": fault.what, "fix": fault.fix, "code": fault.exit_code}
    except MemoryError as err:
        return {"error": f"this machine has too little memory: {err}", "fix": "take a smaller problem", "code": 5}


def _send(replies: Any, data: dict[str, Any]) -> None:
    left = json.dumps(data, default=str).encode() + b"\n"
    while left:
        left = left[replies.write(left) :]


if __name__ == "__main__":
    sys.exit(main())
