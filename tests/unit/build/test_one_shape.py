"""What a candidate's Python can find out while it is recorded: one shape, and nothing of any other, of the phase or order."""

from __future__ import annotations

from typing import Any

import pytest

from kernellab.build import exchange
from kernellab.build.base import Candidate, NotBuilt
from kernellab.sandbox.host import Sandbox
from kernellab.sandbox.limits import Limits
from kernellab.tasks.spec import Task

RECORDER = "kernellab.build.recorder:main"
LIMITS = Limits(wall_s=20)
LOOKS = '''
import gc, os, re, sys

def frames():
    """The locals of every frame up to the first process, but for the file's own text and what varies by place in memory."""
    seen, frame = [], sys._getframe(1)
    while frame is not None:
        names = {k: v for k, v in frame.f_locals.items() if not k.startswith("__") and frame.f_globals is not globals()}
        seen.append((frame.f_code.co_name, sorted((k, repr(v)) for k, v in names.items())))
        frame = frame.f_back
    return seen

def objects():
    """Plain data that any container of the interpreter holds."""
    kinds = (dict, list, tuple, set)
    return sorted({repr(o)[:400] for o in gc.get_objects() if type(o) in kinds and len(o) < 50 and "shape" in repr(o)})

def surroundings():
    seen = [sys.argv, sorted(os.environ.items()), os.getcwd(), sorted(os.listdir("."))]
    for place in ("/tmp", "/dev/shm", "/proc"):
        try:
            seen.append(sorted(os.listdir(place)))
        except OSError as err:
            seen.append(err.errno)
    for fd in range(64):
        try:
            seen.append((fd, os.fstat(fd).st_mode, os.pread(fd, 65536, 0) if fd > 2 else b""))
        except OSError as err:
            seen.append(err.errno)
    return seen

def look():
    found = repr([frames(), objects(), surroundings()])
    return re.sub(r"0x[0-9a-f]+", "somewhere", found)

SOURCE = look()
def launch(x, y):
    kernel("k")(x)
'''


def seen(sandbox: Sandbox, task: Task, n: int) -> str:
    request = exchange.recording_request(task, Candidate(LOOKS, f"named-{n}"), {}, {"N": n})
    answer = exchange.ask_recorder(sandbox, RECORDER, request, LIMITS)
    assert not isinstance(answer, NotBuilt), answer
    return str(answer[0]["source"])


def test_a_job_sees_its_own_shape_and_no_other(sandbox: Sandbox, double_task: Task) -> None:
    found = {n: seen(sandbox, double_task, n) for n in (4321001, 4321002, 4321003)}
    for n, text in found.items():
        assert str(n) in text
        assert not any(str(other) in text for other in found if other != n)
        assert not any(word in text for word in ("held_out", "confirm", "screen", "every_shape", f"named-{n}", "trial"))


def test_a_job_cannot_tell_how_many_there_were_before_it_or_what_for(sandbox: Sandbox, double_task: Task) -> None:
    first = seen(sandbox, double_task, 4321001)
    with sandbox.spawn("kernellab.build.compile_job:nothing", "build", LIMITS, []):
        beside = seen(sandbox, double_task, 4321001)
    assert first == beside == seen(sandbox, double_task, 4321001)


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        ("{'A': itertools.count()}", "SPACE has more than 1024 choices of 'A'"),
        ("{'A': (i for i in itertools.count())}", "SPACE has more than 1024 choices of 'A'"),
        ("{'A': Endless()}", "SPACE has more than 1024 choices of 'A'"),
        ("Mapping()", "SPACE has more than 64 names"),
        ("((f'A{i}', [1]) for i in itertools.count())", "SPACE has more than 64 names"),
    ],
)
def test_a_space_that_never_ends_is_refused_in_words(space: str, reason: str, sandbox: Sandbox) -> None:
    head = """import itertools
class Endless:
    def __iter__(self): return self
    def __next__(self): return 1
class Mapping(dict):
    def items(self): return ((f"A{i}", [1]) for i in itertools.count())
"""
    answer = exchange.describe(sandbox, RECORDER, Candidate(f"{head}SPACE = {space}\n", "x"), LIMITS)
    assert answer == NotBuilt("build-failed", reason)


@pytest.mark.parametrize("name", ["FLAGS", "TASKS"])
def test_flags_and_tasks_that_never_end_are_refused_in_words(name: str, sandbox: Sandbox) -> None:
    text = f"import itertools\n{name} = ('x' for i in itertools.count())\n"
    answer = exchange.describe(sandbox, RECORDER, Candidate(text, "x"), LIMITS)
    assert isinstance(answer, NotBuilt)
    assert answer.reason.startswith(f"{name} has more than")


def test_a_space_that_stops_answering_ends_with_its_job(sandbox: Sandbox) -> None:
    text = "class Stuck(dict):\n    def items(self):\n        while True: pass\nSPACE = Stuck(A=[1])\n"
    answer: Any = exchange.describe(sandbox, RECORDER, Candidate(text, "x"), Limits(wall_s=0.5))
    assert isinstance(answer, NotBuilt)
    assert "did not end within 0.5 s" in answer.reason
