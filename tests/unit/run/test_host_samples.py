from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernellab.run.base import WorkerFault
from kernellab.run.host_samples import stranger
from kernellab.sandbox.host import Sandbox

from .host_bed import HEAD, HONEST, HostBed

pytest.importorskip("torch")
BY_POINTER = HEAD + (
    "    kept = {}\n    def forward(self, x):\n"
    "        return self.kept.setdefault(x.data_ptr(), x * self.w)\n"
)  # fmt: skip


def test_the_second_pass_makes_the_calls_on_other_contents_first(torch_sandbox: Sandbox) -> None:
    with HostBed(torch_sandbox, BY_POINTER) as bed:
        bed.run(0, 1, 2)
        assert bed.y(2).tolist() == [6.0] * 8
        bed.run(0, 1, 2, steady=True)
        assert bed.y(2).tolist() != [6.0] * 8
    with HostBed(torch_sandbox, HONEST) as bed:
        bed.run(0, 1, 2, steady=True)
        assert [bed.y(n).tolist() for n in range(3)] == [[2.0] * 8, [4.0] * 8, [6.0] * 8]
        assert bed.inputs.array(bed.calls[2].inputs[1]).tolist() == [3.0] * 8


def test_a_write_after_the_reply_is_a_rejection(torch_sandbox: Sandbox) -> None:
    with HostBed(torch_sandbox, HONEST) as bed:
        assert bed.runner is not None
        bed.runner.prepare([0, 1], 30.0)
        bed.run(0, 1, counted=True)
        bed.y(1)[3] = 17.0  # as somebody would who shares the buffer and was not stopped
        with pytest.raises(WorkerFault, match="after its reply"):
            bed.runner.prepare([0, 1], 30.0)


def test_a_timed_sample_follows_an_uncounted_call_in_a_process_of_its_own(torch_sandbox: Sandbox) -> None:
    with HostBed(torch_sandbox, BY_POINTER) as bed:
        assert bed.runner is not None
        for number in (1, 2):
            assert bed.runner.prepare([0, 1], 30.0) > 0
            for call in bed.calls:
                bed.inputs.write(call.inputs[1], np.full(8, 10 * number, np.float32))
            assert bed.runner.run([0, 1], 30.0, counted=True).seconds > 0
            assert bed.y(1).tolist() == [20.0 * number] * 8
            assert bed.y(0).tolist() != [20.0 * number] * 8


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_other_contents_leave_the_ends_alone_and_change_the_middle(dtype: type) -> None:
    values = np.arange(1, 13).reshape(3, 4).astype(dtype)
    found = stranger(values)
    assert found.dtype == values.dtype
    assert (found[0, 0], found[2, 3]) == (values[0, 0], values[2, 3])
    assert set((found.astype(float) / values.astype(float)).reshape(-1)) == {0.5, 1.0}


def test_single_numbers_change_and_integers_without_others_stay() -> None:
    assert stranger(np.array([4.0])).tolist() == [2.0]
    assert stranger(np.array([4.0]), np.array([-7.0])).tolist() == [-7.0]
    assert stranger(np.array([4, 5, 6])).tolist() == [4, 5, 6]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float32, ml_dtypes.bfloat16])
def test_other_contents_are_those_of_another_call_where_there_is_one(dtype: type) -> None:
    values, other = np.zeros((5, 40), dtype), np.ones((5, 40), dtype)
    found = stranger(values, other)
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    assert (found[0, 0], found[4, 39], found.reshape(-1)[100]) == (0, 0, 1)
    assert 50 < np.count_nonzero(found) < 150


def test_an_input_that_is_the_same_in_all_calls_is_halved() -> None:
    values = np.full(12, 3.0, np.float32)
    assert set(stranger(values, values.copy()).tolist()) == {1.5, 3.0}
