"""Blocks of lanes that lie inside ask nothing; those at an edge ask as before; both are right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.lower.judged import assert_passes, processor, task_of  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.lower.axes import Axis, Index, Looked  # noqa: E402
from kernellab.lower.c_edges import Edges  # noqa: E402
from kernellab.lower.candidates import written  # noqa: E402
from kernellab.lower.sizes import Size  # noqa: E402
from kernellab.lower.values import load  # noqa: E402
from kernellab.targets.base import DeviceSetup  # noqa: E402

LANE, AROUND, WITHIN = Axis("i1", Size.of("d1")), Axis("i0", Size.of("d0")), Axis("r0", Size.of(3))
WIDTH = Size.of("d1")


def test_a_block_is_inside_where_both_its_ends_are_at_both_ends_of_the_loops_within() -> None:
    edges = Edges(LANE, (AROUND, LANE))
    index = Index.of(LANE) + Index.of(WITHIN) + Index.of(-1)
    assert edges.test(index, WIDTH, "test") == "(inside || test)"
    assert edges.condition() == "(first - 1) >= 0 && ((first + LANES - 1) + 1) < d1"


def test_what_goes_down_begins_at_its_last_lane() -> None:
    edges = Edges(LANE, (LANE,))
    edges.test(Index.of(LANE).times(Size.of(-1)).shifted(WIDTH), WIDTH, "test")
    assert edges.condition() == "(-(first + LANES - 1) + d1) >= 0 && (-first + d1) < d1"


@pytest.mark.parametrize(
    "index",
    [
        Index.of(AROUND) + Index.of(-1),
        Index.of(LANE) + Index.of(Looked(load("t", (Index.of(LANE),), "int"), WIDTH)),
        Index.of(LANE).times(Size.of("d0") + Size.of(-5)),
    ],
    ids=["no lane in it", "looked up", "up or down"],
)
def test_elements_are_asked_where_a_block_says_nothing(index: Index) -> None:
    edges = Edges(LANE, (AROUND, LANE))
    assert edges.test(index, WIDTH, "test") == "test"
    assert edges.condition() == ""


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceSetup]:
    with processor() as opened:
        yield opened


def _pooled(x: Any) -> Any:
    return functional.max_pool2d(x.view(-1, 3, 6, 40), 3, 1, 1)


EACH_CHANNEL = nn.Sequential(nn.Unflatten(1, (3, 6, 40)), nn.Conv2d(3, 3, 7, padding=3, groups=3))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("subject", "given"),
    [(_pooled, (torch.rand(2, 720),)), (EACH_CHANNEL, (torch.rand(2, 720),))],
    ids=["pooled", "each channel"],
)
def test_wide_rows_have_both_and_pass(subject: Any, given: tuple[Any, ...], device: DeviceSetup) -> None:
    record = capture_object(subject, given, "wide")
    task = task_of(record)
    (text,) = [w for w in written(record, "c", task.tune[0]) if w.name.startswith("lanes")]
    assert ", LANES, 1);" in text.text
    assert_passes(device, task, text, {"LANES": 8})
