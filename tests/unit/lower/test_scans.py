"""Running sums are known for what they are, in either direction, and stored where a kernel cannot go along them."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.lower.candidates import written  # noqa: E402
from kernellab.lower.fusion import Fusion, fuse  # noqa: E402
from kernellab.lower.scans import scan_of  # noqa: E402
from kernellab.lower.work import evaluated, work_of  # noqa: E402


def fused(subject: Any, *inputs: Any) -> Fusion:
    record = capture_object(subject, inputs, "subject")
    return fuse(record, record.example, evaluated)


def test_what_comes_before_and_after_a_running_sum_is_in_its_kernel() -> None:
    (kernel,) = fused(lambda x: torch.tanh(torch.cumsum(x.exp(), 1)) + 1, torch.rand(5, 40)).kernels
    scan = scan_of(kernel)
    assert scan is not None
    assert (scan.whole.how, scan.along, scan.backwards) == ("sum", kernel[0].axes[1], False)


def test_flips_around_it_turn_its_direction() -> None:
    (kernel,) = fused(lambda x: torch.flip(torch.cumsum(torch.flip(x, [0]), 0), [0]), torch.rand(9, 4)).kernels
    scan = scan_of(kernel)
    assert scan is not None
    assert (scan.along, scan.backwards) == (kernel[0].axes[0], True)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "subject",
    [
        lambda x: torch.cumsum(x, 1)[:, 1:] * 2,
        lambda x: torch.softmax(torch.cumsum(x, 1), 1),
        lambda x: torch.cumsum(torch.cumsum(x, 1), 0),
    ],
)
def test_it_is_stored_where_a_kernel_reads_it_otherwise(subject: Any) -> None:
    kernels = fused(subject, torch.rand(5, 40)).kernels
    assert len(kernels) == 2
    assert scan_of(kernels[0]) is not None


@pytest.mark.heavy
def test_the_work_of_a_scan_is_not_the_square_of_its_length() -> None:
    fusions = [fused(lambda x: torch.cumsum(x, 1), torch.rand(4, n)) for n in (100, 1000)]
    short, long = (work_of(f.kernels[0], f.sizes, evaluated) for f in fusions)
    assert long == pytest.approx(10 * short, rel=0.05)


def test_a_sum_with_something_else_behind_its_place_is_no_scan() -> None:
    def subject(x: Any) -> Any:
        places = torch.arange(40)
        return torch.where(places[None, :] <= places[:, None], x[:, None, :], 2.0).sum(-1)

    assert all(scan_of(kernel) is None for kernel in fused(subject, torch.rand(5, 40)).kernels)


def test_one_long_row_goes_in_order() -> None:
    """Threads may share rows, not the steps of one."""
    record = capture_object(lambda x: torch.cumsum(x, 0), (torch.rand(1000),), "subject")
    (found,) = written(record, "c", record.example)
    assert "omp parallel" not in found.text
