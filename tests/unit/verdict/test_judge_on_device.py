"""Cases that stay where torch computes, on a processor's own memory here: the same verdicts as by the host's comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.unit.tasks.modules import graphs

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.build.c import CBuilder
from kernellab.core.errors import EnvironmentFault
from kernellab.core.records import Passed, Rejected
from kernellab.lower.candidates import written
from kernellab.lower.tensors import Written
from kernellab.propose.recipe import with_defaults
from kernellab.run.arena import Arena
from kernellab.run.base import Memory, Region, TensorMemory
from kernellab.run.cpu import CpuDevice
from kernellab.tasks.modules.importing import Wishes
from kernellab.tasks.modules.task import module_task
from kernellab.tasks.spec import Task
from kernellab.verdict.answers import DeviceAnswers, HostAnswers
from kernellab.verdict.cases import Case, CaseTable
from kernellab.verdict.judge import Judge

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.backend_c
RECORD = graphs.linear()
TASK = module_task(graphs.module_record(RECORD, Wishes()))
CASES = [Case({"d0": rows}, kind, "edge") for rows in (3, 70) for kind in TASK.distributions]
SEED = bytes(range(32))


class TorchArena(Arena):
    def adopt(self, region: Region, tensor: Any) -> None:
        self.write(region, tensor.numpy())

    def tensor(self, region: Region) -> Any:
        return torch.from_numpy(self.array(region))

    def digests(self, regions: Sequence[Region], secret: int) -> list[int]:
        return [hash((secret, self.array(region).tobytes())) for region in regions]


class TorchDevice(CpuDevice):
    def memory(self, name: str, seed: bytes) -> Memory:
        return TorchArena(name, seed)


@pytest.fixture
def there(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> TorchDevice:
    """Every case is large here."""
    monkeypatch.setattr("kernellab.verdict.cases._LARGE", 0)
    return TorchDevice(device._sandbox, 1, device.cpus)


def nest(task: Task) -> Written:
    return next(w for w in written(RECORD, "c", task.tune[0]) if w.name.startswith("nest"))


def built(builder: CBuilder, task: Task, change: tuple[str, str] = ("", "")) -> Built:
    found = nest(task)
    assert change[0] in found.text
    candidate = Candidate(found.text.replace(*change) if change[0] else found.text, found.name)
    made = builder.build(task, candidate, with_defaults(builder, candidate), [{"d0": 3}, {"d0": 70}])
    assert not isinstance(made, NotBuilt), (made.reason, made.log)
    return made


def verdict(device: CpuDevice, artifact: Built, level: Any = "full") -> Passed | Rejected:
    with CaseTable(TASK, CASES, SEED, device, keep=level != "full") as table:
        return Judge(device).verify(artifact, table, level)


def test_memory_of_a_processor_takes_no_tensors() -> None:
    assert not isinstance(Arena("x", SEED), TensorMemory)
    assert isinstance(TorchArena("x", SEED), TensorMemory)


@pytest.mark.parametrize("level", ["screen", "full"])
def test_a_right_kernel_passes_with_errors_of_the_same_size(
    level: str, device: CpuDevice, there: TorchDevice, builder: CBuilder
) -> None:
    artifact = built(builder, TASK)
    here, found = verdict(device, artifact, level), verdict(there, artifact, level)
    assert isinstance(here, Passed)
    assert isinstance(found, Passed), found
    assert (found.cases, found.judged, found.deterministic) == (here.cases, here.judged, True)
    assert 0 < found.max_ulp < found.budget_ulp
    assert 0.2 < found.max_ulp / here.max_ulp < 5, "drawn by others, from the same distributions"


def test_a_wrong_kernel_is_told_in_the_hosts_own_words(there: TorchDevice, builder: CBuilder) -> None:
    found = verdict(there, built(builder, TASK, ("0.0f);", "1.0f);")))
    assert isinstance(found, Rejected)
    assert found.cause == "wrong-output"
    assert "elements" in found.reason
    assert "instead of" in found.reason


def test_a_kernel_that_leaves_a_row_out_has_not_written_it(there: TorchDevice, builder: CBuilder) -> None:
    text = nest(TASK).text
    loop = next(line for line in text.splitlines() if "i0 < d0" in line)
    found = verdict(there, built(builder, TASK, ("i0 < d0", "i0 < d0 - 1")))
    assert isinstance(found, Rejected), loop
    assert found.cause == "unwritten"


def test_further_tables_are_judged_too_and_the_cases_counted(
    there: TorchDevice, builder: CBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = built(builder, TASK)
    monkeypatch.setattr("kernellab.verdict.cases.TOGETHER_BYTES", 10_000)
    with CaseTable(TASK, CASES, SEED, there, keep=False) as table:
        assert 0 < len(table.cases) < len(CASES)
        found = Judge(there).verify(artifact, table, "full")
    assert isinstance(found, Passed)
    assert found.cases == len(CASES)
    assert len(found.judged) == 2


def test_what_is_wrong_in_the_last_table_is_wrong(
    there: TorchDevice, builder: CBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernellab.verdict.cases.TOGETHER_BYTES", 10_000)
    found = verdict(there, built(builder, TASK, ("i0 < d0", "i0 < (d0 > 60 ? d0 - 1 : d0)")))
    assert isinstance(found, Rejected)
    assert "70" in found.case


def test_where_the_device_has_no_room_the_host_judges(there: TorchDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    with CaseTable(TASK, CASES[:1], SEED, there) as table:
        assert isinstance(table.answers(0), DeviceAnswers)
    oracle = TASK.oracle
    assert oracle is not None
    monkeypatch.setattr(type(oracle), "case", lambda *_: None)
    with CaseTable(TASK, CASES[:1], SEED, there) as table:
        assert isinstance(table.answers(0), HostAnswers)


def test_a_case_is_made_again_where_it_was_made(there: TorchDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs are drawn otherwise on the host: its answers would be those to other inputs."""
    oracle = TASK.oracle
    assert oracle is not None
    with CaseTable(TASK, CASES[:2], SEED, there, keep=False) as table:
        assert isinstance(table.answers(0), DeviceAnswers)
        with monkeypatch.context() as short:
            short.setattr(type(oracle), "case", lambda *_: None)
            assert isinstance(table.answers(1), HostAnswers)
            with pytest.raises(EnvironmentFault, match="no room to judge a case again"):
                table.answers(0)
        assert isinstance(table.answers(0), DeviceAnswers)
        assert isinstance(table.answers(1), HostAnswers)


def test_inputs_on_the_device_differ_by_case_and_seed_and_come_again(there: TorchDevice) -> None:
    def drawn(seed: bytes) -> list[Any]:
        cases = [CASES[1], CASES[1]]
        with CaseTable(TASK, cases, seed, there) as table:
            return [table.inputs.read(call.inputs[1]).copy() for call in table.calls]

    first, again, other = drawn(SEED), drawn(SEED), drawn(os.urandom(32))
    assert all(map(np.array_equal, first, again))
    assert not np.array_equal(first[0], first[1])
    assert not any(map(np.array_equal, first, other))
