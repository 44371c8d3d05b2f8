"""Outputs that are integers or booleans: off by what rounding could have decided otherwise, and by no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.scale import Judged, judge  # noqa: E402

Function = Callable[..., Any]


def judged(function: Function, *inputs: Any) -> tuple[Judged, Any]:
    """The verdict on a function's output, and what torch makes of it in the module's own types."""

    class Module(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, *given: Any) -> Any:
            return function(*given)

    record = capture_object(Module(), inputs)
    given = {i.name: value for i, value in zip(record.inputs, inputs, strict=True)}
    return judge(record, given)[0], evaluate(record, given, wide=False)[0]


def near(value: float, rows: int = 8, columns: int = 64) -> Any:
    """Ordinary numbers, one of which lies where rounding decides on which side of tanh(value) it comes."""
    x = torch.linspace(-3.0, 3.0, rows * columns).reshape(rows, columns)
    x[0, 0] = value
    return x


EDGE = 0.5


def above(x: Any) -> Any:
    return torch.tanh(x) > float(torch.tanh(torch.tensor(EDGE, dtype=torch.float64)))


WHOLE: dict[str, Function] = {
    "a comparison": above,
    "a count of each row": lambda x: above(x).sum(-1),
    "a count of all": lambda x: above(x).sum(),
    "a running count": lambda x: above(x).cumsum(-1),
    "a choice of two numbers": lambda x: torch.where(above(x), 7, 2),
    "a count in arithmetic": lambda x: 100 - 3 * above(x).sum(-1),
    "a mask over integers": lambda x: torch.where(above(x), 3, 1).masked_fill(x > 2.0, 40),
    "decimals cut off": lambda x: (torch.round(torch.tanh(x), decimals=1) * 100).to(torch.int32),
    "the largest count": lambda x: above(x).sum(-1).amax(),
    "a count with its sign turned": lambda x: -above(x).sum(-1),
    "cut off to an integer": lambda x: (torch.tanh(x) * 100).to(torch.int32),
    "rounded to an integer": lambda x: torch.round(torch.tanh(x) * 100).clamp(-128, 127).to(torch.int8),
    "rounded with a zero point": lambda x: (torch.floor(torch.tanh(x) * 100) + 3).to(torch.int32),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", WHOLE)
def test_what_torch_makes_of_it_passes_and_what_is_far_off_does_not(name: str) -> None:
    verdict, honest = judged(WHOLE[name], near(EDGE))
    assert verdict.accepts(honest)
    far = honest.to(torch.int64)
    far.view(-1)[-1] += 9
    assert not verdict.accepts(far)


@pytest.mark.heavy
def test_one_open_decision_leaves_the_other_rows_decided() -> None:
    """It opened every count of the tensor, to any number: zeros passed for all rows."""
    verdict, honest = judged(WHOLE["a count of each row"], near(EDGE))
    assert verdict.pair.scale.tolist() == [1.0] + [0.0] * 7
    assert not verdict.accepts(honest * 0)
    assert verdict.accepts(honest + torch.tensor([1] + [0] * 7))
    assert not verdict.accepts(honest + torch.tensor([2] + [0] * 7))
    assert not verdict.accepts(honest + torch.tensor([0] + [1] * 7))


@pytest.mark.heavy
def test_a_number_that_a_mask_writes_is_that_number() -> None:
    verdict, honest = judged(lambda x: (x * 100).to(torch.int32).masked_fill(x > 2.0, 40), near(0.3))
    assert not bool(verdict.pair.scale[-1].any())
    assert not verdict.accepts(honest.where(honest != 40, honest * 0 + 39))


@pytest.mark.heavy
def test_a_boolean_is_zero_or_one_where_it_is_open_too() -> None:
    verdict, honest = judged(above, near(EDGE))
    for value, passes in ((0, True), (1, True), (2, False), (255, False)):
        bytes_ = honest.to(torch.uint8)
        bytes_[0, 0] = value
        assert verdict.accepts(bytes_) == passes, value


@pytest.mark.heavy
def test_a_whole_number_is_not_cut_off_below_itself() -> None:
    """37.0, rounded, is 37 however it was computed: 36 is another answer."""
    verdict, honest = judged(WHOLE["rounded to an integer"], near(0.3))
    assert float((verdict.pair.scale > 0).double().mean()) < 0.05
    assert not verdict.accepts(honest - 1)


@pytest.mark.heavy
def test_a_histogram_may_move_as_many_as_are_open() -> None:
    edges = torch.tensor([-0.9, -0.2, float(torch.tanh(torch.tensor(EDGE, dtype=torch.float64))), 0.8])

    def histogram(x: Any, edges: Any) -> Any:
        places = torch.bucketize(torch.tanh(x), edges).reshape(-1)
        return torch.zeros(5, dtype=torch.int64).index_add(0, places, torch.ones(512, dtype=torch.int64))

    verdict, honest = judged(histogram, near(EDGE), edges)
    assert verdict.accepts(honest)
    moved = honest + torch.tensor([0, 0, 1, -1, 0])
    assert verdict.accepts(moved) == bool(verdict.pair.scale.any())
    assert not verdict.accepts(honest + torch.tensor([9, 0, 0, -9, 0]))


@pytest.mark.parametrize("keepdim", [False, True])
def test_the_largest_of_a_row_is_open_where_that_row_is(keepdim: bool) -> None:
    verdict, honest = judged(lambda x: (above(x) * 50).amax(-1, keepdim), near(EDGE))
    assert verdict.accepts(honest)
    assert verdict.pair.scale.reshape(-1).tolist()[1:] == [0.0] * 7
    everywhere, _ = judged(lambda x: (above(x) * 50).amax(), near(EDGE))
    assert everywhere.accepts(torch.tensor(50)), "of all of them there is one largest"


def test_the_winners_place_is_off_by_no_more_than_the_next_best() -> None:
    """An index that goes on into something else is no longer held against the element it names."""
    x = torch.linspace(-2.0, 1.0, 64).reshape(2, 32)
    x[0, 3], x[0, 5] = 2.0, torch.nextafter(torch.tensor(2.0), torch.tensor(3.0))
    verdict, honest = judged(lambda x: torch.argmax(torch.tanh(x), -1) + 1, x)
    assert verdict.accepts(honest)
    assert verdict.pair.scale.tolist() == [2.0, 0.0]


def test_what_is_no_number_becomes_any_integer() -> None:
    """Seen: scales of rows of zeros, by which int8 is divided: the machine makes of a NaN what it likes, and honest kernels
    were refused for it."""
    x = torch.tensor([0.0, 1.5, float("nan"), float("inf"), 300.0, -129.5, 127.4])
    record = capture_object(lambda x: x.to(torch.int8), (x,))
    [verdict] = judge(record, {"x": x})
    wanted = torch.tensor([0, 1, 0, 0, 0, 0, 127], dtype=torch.int8)
    assert verdict.accepts(wanted)
    assert verdict.accepts(torch.tensor([0, 1, -128, 127, 44, 126, 127], dtype=torch.int8))
    assert not verdict.accepts(torch.tensor([0, 0, 0, 0, 0, 0, 127], dtype=torch.int8))
    assert not verdict.accepts(torch.tensor([0, 1, 0, 0, 0, 0, 126], dtype=torch.int8))
