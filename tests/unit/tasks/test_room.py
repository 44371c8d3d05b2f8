"""A shape that does not fit is refused in words; the figures are those that were measured."""

from __future__ import annotations

import pytest

from kernellab.core import hardware
from kernellab.core.errors import UsageError
from kernellab.tasks import room
from kernellab.tasks.builtin import TASKS
from kernellab.tasks.room import check_room, judging_bytes, read_shape
from kernellab.tasks.spec import Dims, parse_dims

GB = 10**9


def has(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(room, "available_bytes", lambda: size)


@pytest.mark.parametrize(
    ("name", "dims", "measured"),
    [
        ("softmax", {"M": 4096, "N": 4096}, 4.35 * GB),
        ("softmax", {"M": 1, "N": 16_000_000}, 4.01 * GB),
        ("stencil3x3", {"H": 1, "W": 16_000_000, "C": 1}, 3.87 * GB),
        ("particle_filter", {"N": 16_000_000}, 4.91 * GB),
    ],
)
def test_what_a_judgement_takes_is_told_within_an_eighth(name: str, dims: Dims, measured: float) -> None:
    assert judging_bytes(TASKS[name], dims) == pytest.approx(measured, rel=0.125)


def test_one_long_row_needs_more_than_the_same_elements_in_many(monkeypatch: pytest.MonkeyPatch) -> None:
    long, many = {"M": 1, "N": 1 << 26}, {"M": 1 << 13, "N": 1 << 13}
    assert judging_bytes(TASKS["softmax"], long) > judging_bytes(TASKS["softmax"], many) + (1 << 30)


def test_a_shape_that_does_not_fit_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, 23 * GB)
    with pytest.raises(UsageError, match=r"at 1x1000000000 takes about 118 GB of memory, 23 are available") as err:
        read_shape("1x1000000000", TASKS["softmax"])
    assert "many rows" in err.value.fix
    assert parse_dims("1x1000000000", TASKS["softmax"])  # to be built it needs no memory


def test_what_fits_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, 20 * GB)
    assert read_shape("16384x4096", TASKS["softmax"]) == {"M": 16384, "N": 4096}
    for task in TASKS.values():
        for dims in (*task.tune, *task.held_out):
            check_room(task, dims)


def test_a_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware.resource, "getrlimit", lambda _: (5 * GB, -1))
    assert hardware.available_bytes() <= 5 * GB


def test_the_limit_of_a_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    limit = f"{tmp_path}/memory.max"
    monkeypatch.setattr(hardware, "_LIMITS", (limit, f"{tmp_path}/none"))
    for text, counts in (("1048576\n", True), ("max\n", False)):
        with open(limit, "w") as file:
            file.write(text)
        assert (hardware.available_bytes() == 1 << 20) is counts
