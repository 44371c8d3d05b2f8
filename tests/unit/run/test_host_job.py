"""What the process of a solution takes as an output. The rest of it is tested through the device (test_host.py)."""

from __future__ import annotations

import pytest

from kernellab.run.base import WorkerFault
from kernellab.sandbox.host import Sandbox

from .host_bed import HEAD, HostBed

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("torch.nn.Parameter(x)", "a Parameter, not a plain torch.Tensor"),
        ("x.numpy()", "a ndarray, not a plain torch.Tensor"),
        ("x.double()", "torch.float64[8], the problem's is torch.float32[8]"),
        ("x[:4]", "[4], the problem's is"),
        ("x.to_sparse()", "a dense tensor"),
        ("(x, x)", "gave 2 outputs, the problem has 1"),
        ("None", "a NoneType"),
    ],
)
def test_an_output_is_a_plain_dense_tensor_of_the_right_kind(torch_sandbox: Sandbox, result: str, words: str) -> None:
    with HostBed(torch_sandbox, f"{HEAD}    def forward(self, x):\n        return {result}\n") as bed:
        with pytest.raises(WorkerFault) as fault:
            bed.run(0)
    assert words in fault.value.reason


@pytest.mark.parametrize("result", ["[x + 0]", "{'y': x + 0}", "((x + 0,),)", "torch.stack([x, x], 1)[:, 0]"])
def test_lists_dictionaries_and_strides_are_taken(torch_sandbox: Sandbox, result: str) -> None:
    with HostBed(torch_sandbox, f"{HEAD}    def forward(self, x):\n        return {result}\n") as bed:
        bed.run(1)
        assert bed.y(1).tolist() == [2.0] * 8
