"""The evaluator on this machine: a request in, a record out; tasks stay open until others need their memory.

Requests are answered one after another, since they share the clock. What they build may be built ahead, on other cores,
where that disturbs no measurement. A shape whose set-up breaks (a baseline that ends, say) is set up anew once.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Protocol

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.records import STOOD_STILL, Rejected, Timing, Verdict
from kernellab.core.settings import Settings
from kernellab.evaluate.one_artifact import same_parts
from kernellab.evaluate.request import Place, TrialRecord, TrialRequest
from kernellab.evaluate.stage import Stage
from kernellab.measurement.bench import Busy
from kernellab.measurement.quiet import wait_for_quiet
from kernellab.targets.base import DeviceSetup, platform
from kernellab.tasks.crew import Crew
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task, elements, shape_key
from kernellab.verdict.cases import Case, CaseTable, all_shapes, full_cases, screen_cases, shapes_of
from kernellab.verdict.judge import Judge

_MEMORY = 4 << 30
_KEPT = 2 << 30
"""Bytes of inputs and answers that are kept for the next request with the same inputs."""
_AHEAD, _EARLY = 1 << 30, 256 << 20
"""Bytes of answers that are made ahead where the oracle has the processor to itself; before it is known whether they are
needed."""
_LOG_KEPT = 4000
_BUILDS_KEPT = 192
"""Three for each of those that are built ahead: for its trial, and for looks at further shapes."""
_RUNNERS = 2  # of a trial: one is screened, one is timed
_OF_TIME = ("hidden-work", "lost-worker", STOOD_STILL)
"""Causes that a machine which stands still for seconds could bring about."""
Found = tuple[Verdict, Timing | Busy | None, str]
_Key = tuple[str, Place, bool]
"""A task's fingerprint, where it is open, and whether torch's baselines are."""


class Evaluator(Protocol):
    """Whoever answers requests: this process, or another one behind the same two types."""

    def evaluate(self, request: TrialRequest) -> TrialRecord: ...


@dataclass
class _Opened:
    """A task on a device, and the shapes of it that are set up, the one used last at the end."""

    task: Task
    locator: str
    device: DeviceSetup
    stages: OrderedDict[str, Stage] = field(default_factory=OrderedDict)
    builds: OrderedDict[str, Built | NotBuilt] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)
    table: CaseTable | None = None
    own_crew: Crew | None = None
    coming: CaseTable | None = None

    def expect(self, request: TrialRequest) -> None:
        """Begin with the answers of a full verdict: those of the large shapes only when they are needed."""
        self.drop_coming()
        crew = self._crew(request)
        if crew is not None and crew is self.own_crew:  # a device with a crew of its own has other things to do
            crew.ahead_bytes = _EARLY
            cases, device = self._cases(request), self.device.rig.device
            self.coming = CaseTable(self.task, cases, os.urandom(32), device, crew, keep=False)

    def seed_for(self, request: TrialRequest) -> bytes:
        """Of the inputs: as asked, or of those that are coming, or new ones."""
        if given := bytes.fromhex(request.judging.inputs_seed):
            return given
        ready = self.coming is not None and self.coming.cases == self._cases(request)
        return self.coming.seed if ready and self.coming is not None else os.urandom(32)

    def judged(self, request: TrialRequest, built: Built, seed: bytes) -> Verdict:
        """The verdict on inputs from this seed. Inputs of a given seed are kept for the next request that names it."""
        cases, crew, device = self._cases(request), self._crew(request), self.device.rig.device
        judge = Judge(device, crew.hands if crew else None)
        level = request.judging.level
        if not request.judging.inputs_seed:
            with self._table(cases, seed, crew, keep=level != "full") as table:
                return judge.verify(built, table, level)
        if self.table is None or (self.table.seed, self.table.all_cases) != (seed, cases):
            self.drop_table()
            self.table = CaseTable(self.task, cases, seed, device, crew, keep=_bytes_kept(self.task, cases) <= _KEPT)
        return judge.verify(built, self.table, level)

    def _cases(self, request: TrialRequest) -> list[Case]:
        if request.judging.distribution:
            return [Case(request.dims, request.judging.distribution, "tune")]
        if request.judging.level == "full":
            return full_cases(self.task, request.dims)
        return screen_cases(self.task, self.device.rig.device.thrifty)

    def _table(self, cases: list[Case], seed: bytes, crew: Crew | None, keep: bool) -> CaseTable:
        """The one that is coming, if it is for these; else a new one."""
        if crew is not None and crew is self.own_crew:
            crew.ahead_bytes = _AHEAD
        if self.coming is not None and self.coming.seed == seed:
            table, self.coming = self.coming, None
            return table
        return CaseTable(self.task, cases, seed, self.device.rig.device, crew, keep)

    def _crew(self, request: TrialRequest) -> Crew | None:
        """Whoever computes answers: the device's own crew, or, where no clock runs that they could disturb, every core."""
        if self.device.crew is None and request.clocking is None and self.own_crew is None:
            cores = len(os.sched_getaffinity(0))
            self.own_crew = Crew(cores, cores, _AHEAD, gives_way=False)
        return self.device.crew or (self.own_crew if request.clocking is None else None)

    def has(self, request: TrialRequest) -> bool:
        """Whether it is built already."""
        return self.find(request) is not None

    def find(self, request: TrialRequest) -> Built | NotBuilt | None:
        with self.lock:
            return next((self.builds[key] for key in request.usable_builds if key in self.builds), None)

    def forget(self, request: TrialRequest) -> None:
        with self.lock:
            self.builds.pop(request.build_key, None)

    def drop_coming(self) -> None:
        if self.coming is not None:
            self.coming.close()
            self.coming = None

    def drop_table(self) -> None:
        if self.table is not None:
            self.table.close()
            self.table = None

    def close(self) -> None:
        self.drop_table()
        self.drop_coming()
        if self.own_crew is not None:
            self.own_crew.close()
        for stage in self.stages.values():
            stage.close()
        self.device.close()


class LocalEvaluator:
    """`settings` are this machine's own: sandbox, compiler, cache. Device, target and threads come with a request.

    `memory`: bytes that shapes which are not being used may hold.
    """

    def __init__(self, settings: Settings, emit: Listener = silent, memory: int = _MEMORY) -> None:
        self._settings = settings
        self._emit = emit
        self._memory = memory
        self._opened: dict[_Key, _Opened] = {}

    def open(self, task: Task, locator: str, torch: bool = True) -> DeviceSetup:
        """Have a task ready, on the device of the settings, from now on by this locator. A request names its fingerprint."""
        opened = self._task((task.fingerprint(), Place.of(self._settings), torch), lambda: (task, locator))
        opened.locator = locator
        return opened.device

    def listen(self, emit: Listener) -> None:
        self._emit = emit

    def stage(self, request: TrialRequest) -> Stage:
        """The shape of a request, set up."""
        return self._stage(self._of(request), request.dims)

    def evaluate(self, request: TrialRequest) -> TrialRecord:
        opened = self._of(request)
        if request.clocking is None:
            return self._answer(request, opened, None)
        stage = self._stage(opened, request.dims)
        try:
            return self._answer(request, opened, stage)
        except EnvironmentFault as fault:
            self._emit(Event("note", f"set up anew: {fault.what}"))
            stage.close()
            return self._answer(request, opened, self._stage(opened, request.dims))

    def expect(self, request: TrialRequest) -> None:
        """This request may come soon: its answers may be made from now on."""
        self._of(request).expect(request)

    def build(self, request: TrialRequest) -> Built | NotBuilt:
        """Build what a request needs, for when it is evaluated. May be called by other threads meanwhile."""
        opened = self._of(request)
        found = opened.find(request)
        if found is None:
            opened.device.rig.device.expect(_RUNNERS)
            found = self._build(opened, request)
            with opened.lock:
                opened.builds[request.build_key] = found
                while len(opened.builds) > _BUILDS_KEPT:
                    opened.builds.popitem(last=False)
        return found

    def answers(self, requests: Sequence[TrialRequest]) -> Iterator[tuple[int, TrialRecord]]:
        """Every request's number and record, in the order in which they are built: on all cores, where the device lets
        builds run beside its measurements."""
        jobs = max((self._of(request).device.build_jobs for request in requests), default=0)
        if not jobs:
            yield from ((number, self.evaluate(request)) for number, request in enumerate(requests))
            return
        with ThreadPoolExecutor(jobs, "build") as pool:
            coming = {pool.submit(self.build, request): number for number, request in enumerate(requests)}
            for built in as_completed(coming):
                yield coming[built], self.evaluate(requests[coming[built]])

    def close(self) -> None:
        for opened in self._opened.values():
            opened.close()
        self._opened = {}

    def __enter__(self) -> LocalEvaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _of(self, request: TrialRequest) -> _Opened:
        key = (request.fingerprint, request.place, request.torch)
        return self._task(key, lambda: (_loaded(request), request.task))

    def _task(self, key: _Key, load: Callable[[], tuple[Task, str]]) -> _Opened:
        if key not in self._opened:
            (task, locator), (_, place, torch) = load(), key
            settings = self._settings.model_copy(update=place.model_dump())
            self._opened[key] = _Opened(task, locator, platform(place.device).open(settings, task, torch))
        return self._opened[key]

    def _stage(self, opened: _Opened, dims: Dims) -> Stage:
        key = shape_key(dims)
        stage = opened.stages.get(key)
        if stage is None or stage.closed:
            self._make_room()
            self.wait_for_quiet(opened.device)
            device = opened.device
            stage = Stage(device.rig, opened.task, opened.locator, dims, self._emit, device.crew)
            opened.stages[key] = stage
        opened.stages.move_to_end(key)
        return stage

    def wait_for_quiet(self, device: DeviceSetup) -> None:
        """If the user asked for it (--wait) and the processor is what is measured."""
        threads, patience = device.rig.threads, self._settings.wait_s
        if patience and threads and not wait_for_quiet(threads, patience, lambda text: self._emit(Event("note", text))):
            self._emit(Event("note", f"the machine did not become quiet within {patience:.0f} s"))

    def _make_room(self) -> None:
        """Close the shapes that were not used for longest, task by task, until the rest fits."""
        for opened in self._opened.values():
            for key, stage in list(opened.stages.items()):
                if stage.closed or self._held() > self._memory:
                    stage.close()
                    del opened.stages[key]

    def _held(self) -> int:
        return sum(s.nbytes for o in self._opened.values() for s in o.stages.values() if not s.closed)

    def _build(self, opened: _Opened, request: TrialRequest) -> Built | NotBuilt:
        task, thrifty = opened.task, opened.device.rig.device.thrifty
        if request.judging.distribution:
            shapes = [request.dims]
        elif request.judging.level == "full":
            shapes = all_shapes(task, request.dims)
        else:
            shapes = shapes_of(screen_cases(task, thrifty), request.dims)
        candidate = Candidate(request.source, request.name)
        return opened.device.builder.build(task, candidate, dict(request.params), shapes)

    def _answer(self, request: TrialRequest, opened: _Opened, stage: Stage | None) -> TrialRecord:
        deadline = time.monotonic() + (request.deadline_s or float("inf"))
        if not opened.has(request):
            self._emit(Event("doing", f"building {request.name}"))
        built = self.build(request)
        began = time.perf_counter()
        rig, environment = opened.device.rig, opened.device.environment
        common = {"trust": rig.device.trust, "tier": opened.device.sandbox.tier,
                  "device": environment["device"], "environment": environment["digest"]}  # fmt: skip

        def answer(**told: Any) -> TrialRecord:
            wall = time.perf_counter() - began
            return TrialRecord(**common, calibration=stage.calibration if stage else None, wall_s=wall, **told)

        if isinstance(built, NotBuilt):
            opened.forget(request)  # a compiler may have been too slow this once
            return answer(status=built.status, reason=built.reason, log=built.log[:_LOG_KEPT], failed_at=built.dims)
        kept: dict[str, Any] = {"artifact": built.artifact, "evidence": evidence_of(built)}
        if built.artifact.id in request.known:
            return answer(status="duplicate", **kept)
        if request.expected is not None and not same_parts(request.expected, built.artifact):
            other = Rejected(cause="plan", reason="the build gave other machine code than before")
            return answer(status="rejected", verdict=other, reason=other.reason, **kept)
        if time.monotonic() > deadline:
            return answer(status="out-of-time", reason=f"built only after {request.deadline_s:g} s", **kept)
        with ThreadPoolExecutor(1, "listing") as beside:  # it takes as long as all the rest
            words = beside.submit(_in_words, request, opened, built)
            examine = partial(_examined, request, opened, stage, built, self._emit)
            verdict, timing, seed = found_twice(examine, self._emit)
            kept |= {"verdict": verdict, "inputs_seed": seed, "listing": words.result()}
        if isinstance(verdict, Rejected):
            return answer(status="rejected", reason=verdict.reason, **kept)
        if isinstance(timing, Busy):
            return answer(status="busy", reason=timing.reason, **kept)
        return answer(status="passed" if timing is None else "measured", timing=timing, **kept)


def _in_words(request: TrialRequest, opened: _Opened, built: Built) -> str:
    """The machine code as text, where a record keeps it: a GPU's, and of a full judgement alone."""
    if request.judging.level != "full" or not built.listing:
        return ""
    words = platform(request.place.device).disassembly(opened.device.sandbox, built)
    return f"{built.listing}\n{words}"


def found_twice(examine: Callable[[], Found], emit: Listener) -> Found:
    """Once more where a machine that stood still may be to blame: what is found again is the candidate's own."""
    found = examine()
    if isinstance(found[0], Rejected) and found[0].cause in _OF_TIME:
        emit(Event("note", f"examined again: {found[0].reason}"))
        found = examine()
    if isinstance(found[0], Rejected) and found[0].cause == STOOD_STILL:
        raise EnvironmentFault(
            f"the machine stood still: {found[0].reason}",
            "try again on a quieter machine; 'klab resume' goes on with a run",
        )
    return found


def _examined(request: TrialRequest, opened: _Opened, stage: Stage | None, built: Built, emit: Listener) -> Found:
    """Verdict, timing where one was asked for, and the seed of the inputs."""
    whole = (
        ", every case, then timed in fresh processes" if request.judging.level == "full" and request.clocking else ""
    )
    emit(Event("doing", f"judging {request.name}{whole}"))
    judging, clocking, effort = request.judging, request.clocking, request.effort
    if stage is None or clocking is None or judging.inputs_seed:
        seed = opened.seed_for(request)
        verdict = opened.judged(request, built, seed)
    elif judging.level == "full":
        return stage.confirm(built, effort)
    else:
        verdict, seed = stage.verify(built), stage.table.seed
    if stage is None or clocking is None or isinstance(verdict, Rejected):
        return verdict, None, seed.hex()
    emit(Event("doing", f"timing {request.name} against the fastest baseline"))
    race = clocking.how == "race"
    timing = stage.measure(built, clocking.incumbent, effort) if race else stage.time(built, effort)
    return (timing, None, seed.hex()) if isinstance(timing, Rejected) else (verdict, timing, seed.hex())


def _loaded(request: TrialRequest) -> Task:
    task = load_task(request.task).on(request.place.device)
    if task.fingerprint() != request.fingerprint:
        raise UsageError(f"the task '{request.task}' is not the one that was asked for", "give its file as it was then")
    return task


def _bytes_kept(task: Task, cases: Sequence[Case]) -> int:
    """What a table takes that keeps its answers: 24 bytes an element of an output, and the buffers."""
    buffers = sum(b.nbytes(case.dims) for case in cases for b in (*task.inputs, *task.outputs))
    return buffers + sum(24 * elements(task.outputs, case.dims) for case in cases)


def evidence_of(built: Built) -> dict[str, bytes]:
    """What a record of this artifact names, by its SHA-256."""
    found: dict[str, bytes] = {}
    for part in built.parts:
        found |= {part.record.code: part.code, part.record.plan: part.plan_file, part.record.log: part.log.encode()}
    return found
