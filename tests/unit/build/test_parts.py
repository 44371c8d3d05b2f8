from __future__ import annotations

import threading
from typing import Any

import pytest

from kernellab.build.base import Built, Candidate, NotBuilt, Part
from kernellab.build.c import CBuilder
from kernellab.build.cache import CodeCache
from kernellab.build.compiler import Compiler
from kernellab.build.parts import TWO_TEXTS, Made, Once, assemble, each_shape
from kernellab.build.plan import IntArg, Plan, Step, plan_bytes
from kernellab.core.ids import sha256_hex
from kernellab.core.records import artifact_id, part_id
from kernellab.sandbox.host import Sandbox
from kernellab.tasks.spec import Dims, Task

SHAPES: list[Dims] = [{"N": n} for n in range(1, 9)]


def made(n: int, code: bytes = b"code", text: str = "same", **resources: int) -> Made:
    plan = Plan(steps=[Step(kernel="k", args=[IntArg(value=n)])])
    return Made(Part({"N": n}, code, plan, log=f"log {n}", text=text), ["-O2"], 8 * n, n > 1, resources)


def test_every_shape_is_worked_on_once_and_answers_come_in_their_order() -> None:
    asked: list[int] = []

    def work(dims: Dims) -> int:
        asked.append(dims["N"])
        return dims["N"] ** 2

    assert each_shape(work, SHAPES) == [n * n for n in range(1, 9)]
    assert sorted(asked) == list(range(1, 9))


def test_the_first_shape_in_order_that_fails_is_told_though_a_later_one_failed_before_it() -> None:
    later = threading.Event()

    def work(dims: Dims) -> int | NotBuilt:
        if dims["N"] == 2:
            later.set()
            return NotBuilt("build-failed", "second")
        later.wait(20)
        return NotBuilt("invalid", "first")

    found = each_shape(work, SHAPES[:2])
    if not later.is_set():
        pytest.skip("one processor: nothing happens side by side")
    assert found == NotBuilt("invalid", "first", dims={"N": 1})


def test_after_a_failure_no_further_shape_is_begun() -> None:
    asked: list[int] = []

    def work(dims: Dims) -> NotBuilt:
        asked.append(dims["N"])
        return NotBuilt("invalid", "no")

    assert each_shape(work, [{"N": n} for n in range(500)]) == NotBuilt("invalid", "no", dims={"N": 0})
    assert len(asked) < 500


def test_work_with_one_key_is_done_once_and_everybody_gets_its_answer() -> None:
    once, counted = Once(), []

    def work() -> int:
        counted.append(1)
        return 7

    assert each_shape(lambda dims: once.get(str(dims["N"] % 2), work), SHAPES) == [7] * 8
    assert len(counted) == 2


def test_a_failure_in_shared_work_reaches_everybody_who_asked() -> None:
    once = Once()

    def work() -> int:
        raise ValueError("broken")

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            once.get("key", work)


def test_an_artifact_names_the_bytes_of_every_part() -> None:
    built = assemble([made(1, a=1), made(7, b"other", a=9, b=2)], 0.0, "c", "cc")
    assert isinstance(built, Built)
    artifact = built.artifact
    assert list(artifact.parts) == ["N=1", "N=7"]
    for part in built.parts:
        plan = sha256_hex(plan_bytes([part.dims], [part.plan]))
        record = artifact.parts[f"N={part.dims['N']}"]
        assert (record.code, record.plan, record.log) == (sha256_hex(part.code), plan, sha256_hex(part.log.encode()))
        assert part.id == record.id == part_id(record.code, record.plan)
    assert artifact.id == artifact_id({label: part.id for label, part in artifact.parts.items()})
    assert (artifact.code, artifact.plans) == (built.timed.record.code, built.timed.record.plan)
    assert (artifact.static_bytes, artifact.cached, artifact.resources) == (56, False, {"a": 9, "b": 2})
    assert built.codes == (b"code", b"other")


def test_any_other_byte_at_any_shape_is_another_artifact() -> None:
    ids = set()
    for parts in (
        [made(1), made(7)],
        [made(1), made(7, b"x")],
        [made(1, b"x"), made(7)],
        [made(1), made(8)],
        [made(1)],
    ):
        built = assemble(parts, 0.0, "c", "cc")
        assert isinstance(built, Built)
        ids.add(built.artifact.id)
    assert len(ids) == 5


def test_shapes_with_different_texts_are_no_artifact() -> None:
    refused = assemble([made(1), made(7), made(8, text="other")], 0.0, "c", "cc")
    assert refused == NotBuilt("build-failed", TWO_TEXTS, dims={"N": 8})


@pytest.mark.backend_c
def test_shapes_that_call_alike_share_one_compilation_and_others_have_their_own(
    sandbox: Sandbox, compiler: Compiler, double_task: Task, make_candidate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = CBuilder(sandbox, compiler, CodeCache(None))
    compiled: list[str] = []
    real = builder._compile
    monkeypatch.setattr(builder, "_compile", lambda text, commands: (compiled.append(text), real(text, commands))[1])
    source = "void k(const float *x, float *y, long n) {}\nvoid small(const float *x, float *y, long n, float a) {}\n"
    launch = "def launch(x, y):\n    kernel('small')(x, y, 1, 0.5) if x.size < 5 else kernel('k')(x, y, x.size)\n"
    built = builder.build(double_task, make_candidate(source, launch), {}, SHAPES)
    assert isinstance(built, Built)
    assert len(compiled) == len(built.codes) == 2
    assert [built.codes.index(p.code) for p in built.parts] == [0] * 4 + [1] * 4


@pytest.mark.backend_c
@pytest.mark.parametrize("line", ["__import__('os').urandom(8).hex()", "__import__('time').time_ns()"])
def test_a_source_that_is_another_in_every_process_is_refused(line: str, builder: CBuilder, double_task: Task) -> None:
    text = f"SOURCE = 'void k(void) {{}} //' + str({line})\ndef launch(x, y):\n    kernel('k')()\n"
    refused = builder.build(double_task, Candidate(text, "x"), {}, SHAPES[:2])
    assert isinstance(refused, NotBuilt)
    assert refused.reason == TWO_TEXTS
