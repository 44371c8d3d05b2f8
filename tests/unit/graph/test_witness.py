"""The module itself as a witness, straight-line programs, and arrays between processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from tests.unit.tasks.modules import graphs  # noqa: E402

from kernellab.graph.arrays import packed, read_arrays, unpacked_all, write_arrays  # noqa: E402
from kernellab.graph.capture import LIMITS, Capturer  # noqa: E402
from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.program import program  # noqa: E402
from kernellab.graph.source import Request  # noqa: E402
from kernellab.graph.witness_job import run  # noqa: E402

_MODULE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2, bias=False)

    def forward(self, x, twice):
        return {"y": self.layer(x) * (2 if twice else 1)}

def get_inputs():
    return [torch.ones(4, 3), True]
"""


def exact(rows: int) -> np.ndarray:
    """Three columns of numbers that float32 cannot hold, and whose sums float64 holds in whatever order they are added."""
    return 1 + np.arange(3.0 * rows).reshape(rows, 3) * 2.0**-30


@contextmanager
def memory_file() -> Iterator[int]:
    fd = os.memfd_create("arrays")
    try:
        yield fd
    finally:
        os.close(fd)


def test_the_module_runs_in_float64_on_the_weights_and_inputs_that_are_given() -> None:
    weight, x = np.arange(6.0).reshape(2, 3), exact(5)
    [found] = run(Request("net.py", "Model", text=_MODULE), ["layer.weight", ""], [weight, x])
    assert found.dtype == np.float64
    assert np.array_equal(found, 2 * x @ weight.T)


def test_outputs_within_outputs_come_in_the_order_of_the_export(tmp_path: Path) -> None:
    text = _MODULE.replace(" * (2 if twice else 1)}", ', "x": (x + 1, [x.sum(), x * 3])}')
    weight, x = np.arange(6.0).reshape(2, 3), exact(4)
    found = run(Request("net.py", "Model", text=text), ["layer.weight", ""], [weight, x])
    assert [f.tolist() for f in found] == [(x @ weight.T).tolist(), (x + 1).tolist(), x.sum(), (x * 3).tolist()]
    with Capturer([str(tmp_path)]) as capturer:
        record = capturer.capture(Request(str(tmp_path / "net.py"), "Model", text=text))
    assert [o.type.shape(record.example) for o in record.outputs] == [tuple(f.shape) for f in found]


def test_of_a_backward_it_gives_the_gradients_that_autograd_gives_in_float64() -> None:
    """Weights first, then inputs; the gradients that come in are given last."""
    weight, x = np.arange(6.0).reshape(2, 3), np.linspace(0, 1, 15).reshape(5, 3)
    grad = np.cos(np.arange(10.0)).reshape(5, 2)
    request = Request("net.py", "Model", text=_MODULE.replace('{"y": ', "(").replace("1)}", "1))"), backward=True)
    by_weight, by_x = run(request, ["layer.weight", "", ""], [weight, x, grad])
    assert np.allclose(by_weight, 2 * grad.T @ x, rtol=1e-14)
    assert np.allclose(by_x, 2 * grad @ weight, rtol=1e-14)


@pytest.mark.parametrize("record", [graphs.linear(), graphs.maximum(), graphs.total(), graphs.masked()])
def test_a_program_computes_what_the_graph_does(record: graphs.GraphRecord) -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(i.type.shape(record.example), generator=generator) for i in record.inputs]
    given = [t > 0 if i.type.dtype == "bool" else t for t, i in zip(tensors, record.inputs, strict=True)]
    wanted = evaluate(record, {i.name: t for i, t in zip(record.inputs, given, strict=True)}, wide=False)
    found = program(record, record.example)(*given)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_arrays_come_back_as_they_were_and_half_of_them_is_an_error() -> None:
    arrays = [np.arange(6.0).reshape(2, 3), np.array(7), np.array([True, False])]
    with memory_file() as fd:
        write_arrays(fd, arrays)
        for found in (read_arrays(fd, 3), unpacked_all(packed(arrays))):
            for before, after in zip(arrays, found, strict=True):
                assert after.dtype == before.dtype
                assert np.array_equal(before, after)
        os.ftruncate(fd, os.fstat(fd).st_size // 2)
        with pytest.raises((ValueError, EOFError)):
            read_arrays(fd, 3)


@pytest.mark.slow
def test_arrays_of_more_bytes_than_one_call_reads_come_back(tmp_path: Path) -> None:
    """Seen: the weights of a 16384 x 16384 layer in float64, of which a process read the first 2 GB."""
    weight = np.zeros((1, (1 << 28) + 5))
    weight[0, -1] = 3.0
    request = Request(
        str(tmp_path / "net.py"), "Model", text=_MODULE.replace("Linear(3, 2", f"Linear({weight.size}, 1")
    )
    with Capturer([str(tmp_path)]) as capturer:
        found = capturer.witness(request, ["layer.weight", ""], [weight, weight], replace(LIMITS, memory=24 << 30))
    assert not isinstance(found, str), found
    assert found[0].tolist() == [[18.0]]


@pytest.mark.heavy
def test_outputs_larger_than_a_files_usual_limit_come_back_where_their_size_is_known(tmp_path: Path) -> None:
    """A normalisation over four million elements has outputs of a hundred megabytes at any batch."""
    weight, x = np.arange(6.0).reshape(2, 3), np.ones((1 << 17, 3))
    request, small = Request(str(tmp_path / "net.py"), "Model", text=_MODULE), replace(LIMITS, file_size=1 << 20)
    with Capturer([str(tmp_path)]) as capturer:
        found = capturer.witness(request, ["layer.weight", ""], [weight, x], small, room=8 * 2 * len(x))
        assert not isinstance(found, str)
        assert np.array_equal(found[0], 2 * x @ weight.T)
        assert isinstance(capturer.witness(request, ["layer.weight", ""], [weight, x], small), str), "unknown: refused"
