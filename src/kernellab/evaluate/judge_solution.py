"""Judging somebody else's ModelNew against a problem: every shape and distribution of the task, then a timing if wanted.

Covered: see run/host.py; the verdict rests on the outputs' bytes alone. Not covered: a timing at trust level `host` is a
figure for people. It makes no win, and nothing can be certified by it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from kernellab.build.base import Built, Part
from kernellab.build.parts import Made, assemble
from kernellab.build.plan import Plan, Step
from kernellab.core.errors import TaskRefused, UsageError
from kernellab.core.events import Listener, silent
from kernellab.core.ids import digest, sha256_hex
from kernellab.core.records import Passed, Rejected, Timing, Trust, dump
from kernellab.core.settings import Settings
from kernellab.evaluate.evaluator import found_twice
from kernellab.evaluate.stage import Stage
from kernellab.graph.capture import read_text
from kernellab.graph.source import SOLUTION, Request
from kernellab.measurement.bench import Busy
from kernellab.measurement.host_rig import HostRig
from kernellab.measurement.rig import threads_cpus
from kernellab.run.base import WorkerFault
from kernellab.run.host import JOB, HostDevice, Problem, arguments_of
from kernellab.run.host_build import BUILD_JOB, Caches, build_solution, compiles, refuse_torch_compile
from kernellab.run.host_samples import NotLoaded
from kernellab.sandbox.tiers import open_sandbox
from kernellab.targets.base import platform
from kernellab.tasks.load import locate
from kernellab.tasks.modules.record import ModuleRecord, is_record, read_module_record
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.modules.wishes import AS_IT_IS, Wishes
from kernellab.tasks.spec import Task
from kernellab.tasks.suites import find_problem
from kernellab.verdict.cases import Case, CaseTable, full_cases, shapes_of
from kernellab.verdict.controls import examine
from kernellab.verdict.judge import Judge

Status = Literal["passed", "rejected", "invalid", "busy"]
NO_CLAIM = "trust level host: a figure for people, no win, and nothing to certify"


@dataclass(frozen=True)
class Judgement:
    """`invalid`: the solution cannot be made, in its own words. `busy`: right, but its speed cannot be told."""

    status: Status
    problem: str
    reason: str
    verdict: Passed | Rejected | None
    timing: Timing | None
    tier: str
    inputs_seed: str
    source: str
    seconds: float
    trust: Trust = "host"
    built: dict[str, str] | None = None
    """What it compiled before it was judged: the SHA-256 of every file that it left; None where it had no build."""
    remarks: tuple[str, ...] = ()
    """Of what passed: what the problem's outputs cannot show, such as the precision of what is on the way."""

    def data(self) -> dict[str, Any]:
        """The object that --json ends with."""
        return {
            "status": self.status, "problem": self.problem, "reason": self.reason, "trust": self.trust,
            "claim": NO_CLAIM, "verdict": dump(self.verdict) if self.verdict else None,
            "timing": dump(self.timing) if self.timing else None, "sandbox": self.tier,
            "inputs_seed": self.inputs_seed, "source": self.source, "seconds": self.seconds,
            "remarks": list(self.remarks),
            "built": {"digest": digest(self.built), "files": self.built} if self.built is not None else None,
        }  # fmt: skip


class SolutionJudge:
    """One problem, opened for any number of solutions. Those must lie under `folders`. Use as a context manager."""

    def __init__(
        self, settings: Settings, locator: str, folders: Sequence[str], wishes: Wishes = AS_IT_IS,
        emit: Listener = silent,
    ) -> None:  # fmt: skip
        located = locate(locator, wishes)
        if not is_record(located):
            fix = "give the problem as FILE.py:Model or a file of KernelBench's form"
            raise UsageError(f"'{locator}' is no PyTorch module", fix)
        record = read_module_record(located)
        self.task: Task = module_task(record).on("cpu")
        self._settings, self.locator, self._emit = settings, located, emit
        request = _request(locator, wishes)
        own = [os.path.dirname(request.file)] if request.text is not None else []
        self._sandbox = open_sandbox(settings.sandbox, [JOB, BUILD_JOB], [*own, *(os.path.abspath(f) for f in folders)])
        try:
            self.problem = _problem(record, request, self._arguments(record, request))
        except BaseException:
            self._sandbox.close()
            raise

    def judge(self, file: Path, timed: bool = False) -> Judgement:
        """The verdict, and a timing where that is wanted and the verdict is good. Raises only for what is not the
        solution's fault: TaskRefused where wrong kernels would have passed as well."""
        began, text = time.perf_counter(), solution_text(file)
        cases, seed = all_cases(self.task), os.urandom(32)
        built = built_from(text, cases, self.task)
        caches: Caches | None = None

        def told(
            status: Status, reason: str, verdict: Passed | Rejected | None = None, timing: Timing | None = None
        ) -> Judgement:
            return Judgement(status, self.task.name, reason, verdict, timing, self._sandbox.tier, seed.hex(),
                             sha256_hex(text.encode()), time.perf_counter() - began,
                             built=caches.hashes if caches else None,
                             remarks=self._remarks if isinstance(verdict, Passed) else ())  # fmt: skip

        try:
            refuse_torch_compile(text)
            caches = self._compiled(file, text) if compiles(text) else None
            device = self._device(file, caches)
            verdict = self._verdict(device, built, cases, seed)
        except NotLoaded as fault:
            return told("invalid", fault.reason)
        if isinstance(verdict, Rejected):
            return told("rejected", verdict.reason, verdict)
        found = self._timed(device, built) if timed else None
        if isinstance(found, Rejected):
            return told("rejected", found.reason, found)
        if isinstance(found, Busy):
            return told("busy", found.reason, verdict)
        return told("passed", "", verdict, found)

    @cached_property
    def _remarks(self) -> tuple[str, ...]:
        """Nothing has passed before the judge is proved on this problem."""
        return examine(self.task).remarks

    def _verdict(self, device: HostDevice, built: Built, cases: list[Case], seed: bytes) -> Passed | Rejected:
        """Raises NotLoaded where the solution cannot be made."""
        with CaseTable(self.task, cases, seed, device, keep=False) as table:
            try:
                with closing(device.start(built, table.inputs, table.outputs, table.calls)):
                    pass
            except NotLoaded:
                raise
            except WorkerFault as fault:
                return Rejected(cause=fault.cause, reason=fault.reason, case="loading")
            judge = Judge(device)
            return found_twice(lambda: (judge.verify(built, table, "full"), None, ""), self._emit)[0]

    def _timed(self, device: HostDevice, built: Built) -> Timing | Rejected | Busy:
        setup = platform("cpu").open(self._settings, self.task, True)
        try:
            rig = HostRig(setup.rig, device)
            with closing(Stage(rig, self.task, self.locator, self.task.tune[0], self._emit)) as stage:
                return stage.time(built, self._settings.profile)
        finally:
            setup.close()

    def _compiled(self, file: Path, text: str) -> Caches:
        """Build it on inputs of the same shapes that are drawn for nothing else. Raises NotLoaded."""
        task = self.task
        shapes = {str(d): self.problem.sizes(d) for d in (*task.edge, *task.held_out, *task.tune)}
        return build_solution(self._sandbox, self.problem.setup(str(file.absolute()), text), list(shapes.values()))

    def _device(self, file: Path, caches: Caches | None = None) -> HostDevice:
        threads = self._settings.threads
        return HostDevice(self._sandbox, self.problem, str(file.absolute()), threads, threads_cpus(threads), caches)

    def _arguments(self, record: ModuleRecord, request: Request) -> tuple[dict[str, Any] | None, ...]:
        if request.text is not None:
            return arguments_of(self._sandbox, request)
        return (None,) * sum(i.role == "input" for i in record.graph.inputs)

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def all_cases(task: Task) -> list[Case]:
    """Every distribution at every shape, the timed ones too."""
    cases = [case for dims in task.tune for case in full_cases(task, dims)]
    return list({case.label + str(case.dims): case for case in cases}.values())


def built_from(text: str, cases: Sequence[Case], task: Task) -> Built:
    """The solution's text as an artifact: the same for every shape."""
    plan = Plan(steps=[Step(kernel=SOLUTION, args=[])])
    made = [Made(Part(dims, text.encode(), plan), [], 0, False, {}) for dims in shapes_of(cases, task.tune[0])]
    built = assemble(made, time.perf_counter(), "host", "none: Python")
    assert isinstance(built, Built)
    return built


def _request(locator: str, wishes: Wishes) -> Request:
    """The problem's own file; a record alone has none, and the solution then says how it is made."""
    problem = None if is_record(locator) else find_problem(locator)
    if problem is None:
        return Request("", eval_mode=wishes.eval_mode)
    if problem.request.backward:
        raise UsageError(f"{locator} asks for gradients", "ModelNew is a forward pass: give the forward problem")
    text = problem.request.text if problem.request.text is not None else read_text(problem.request.file)
    return replace(problem.request, text=text, eval_mode=problem.request.eval_mode or wishes.eval_mode)


def _problem(record: ModuleRecord, request: Request, arguments: tuple[dict[str, Any] | None, ...]) -> Problem:
    graph = record.graph
    constant = next((i.name for i in graph.inputs if i.role == "constant"), "")
    if constant:
        raise TaskRefused(
            f"{record.name} holds a large tensor in its code ('{constant}'), which no ModelNew can be given",
            "make it a buffer of the problem's Model: self.register_buffer(...)",
        )
    places = tuple(i.source if i.role != "input" else "" for i in graph.inputs)
    wanted = sum(not place for place in places)
    if sum(one is None for one in arguments) != wanted:
        raise TaskRefused(f"{record.name}: get_inputs() gives tensors that the result does not depend on",
                          "leave them out of get_inputs() and forward()")  # fmt: skip
    inputs, outputs = tuple(i.type for i in graph.inputs), tuple(o.type for o in graph.outputs)
    return Problem(request, arguments, places, inputs, outputs)


def solution_text(file: Path) -> str:
    """What a solution's file says, or UsageError."""
    if not file.is_file():
        raise UsageError(f"there is no file {file}", f"give a Python file that defines {SOLUTION}")
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{file} cannot be read: {err}", "give a Python file in UTF-8") from None
