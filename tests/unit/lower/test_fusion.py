"""Fused kernels compute what its graph computes: the loop form evaluated by NumPy beside the graph evaluated by torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.unit.graph.conftest import record_of  # noqa: E402
from tests.unit.graph.modules import CASES  # noqa: E402
from tests.unit.lower.meaning import computed  # noqa: E402
from torch import nn  # noqa: E402

from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.live import capture_object  # noqa: E402
from kernellab.graph.record import GraphRecord, Output, Ref, sizes_from  # noqa: E402
from kernellab.lower.distinct import distinct  # noqa: E402
from kernellab.lower.fusion import fuse  # noqa: E402
from kernellab.lower.inline import reductions_of  # noqa: E402
from kernellab.lower.product import is_product  # noqa: E402
from kernellab.lower.rows import rows_of  # noqa: E402
from kernellab.lower.site import NotLowered  # noqa: E402
from kernellab.lower.sizes import Size  # noqa: E402
from kernellab.lower.work import evaluated, evaluated_apart  # noqa: E402

WITHOUT = {"sorts": "aten.sort.default of rows of more than 64 elements"}
"""What has no rule, and what is said of it."""


def inputs_of(record: GraphRecord, seed: int = 0) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for entry in record.inputs:
        shape = entry.type.shape(record.example)
        if entry.type.is_float:
            found[entry.name] = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5
        elif entry.type.dtype == "bool":
            found[entry.name] = torch.rand(shape, generator=generator) > 0.5
        else:
            found[entry.name] = torch.randint(0, 2, shape, generator=generator)
    return found


def agree(record: GraphRecord, model: Any) -> None:
    given = inputs_of(record)
    wanted = evaluate(record, given)
    arrays = {name: tensor.numpy() for name, tensor in given.items()}
    sizes = sizes_from(record, {n: t.shape for n, t in arrays.items()})
    found = computed(fuse(record, sizes, model), arrays, sizes)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, np.asarray(other.double()), rtol=1e-9, atol=1e-9)


@pytest.mark.heavy
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_fused_kernels_compute_what_the_graph_computes(name: str) -> None:
    """Whichever machine they are for; what has no rule is told in words."""
    record = record_of(name)
    if name in WITHOUT:
        with pytest.raises(NotLowered, match=WITHOUT[name]):
            fuse(record, record.example)
        return
    agree(record, evaluated)
    agree(record, evaluated_apart)


def captured(subject: Any, *inputs: Any) -> GraphRecord:
    return capture_object(subject, inputs, "subject")


@pytest.mark.heavy
def test_work_that_would_be_done_again_for_each_element_is_stored() -> None:
    """(a @ b) @ c written in one place would compute a @ b anew for every column."""
    chain = captured(lambda a, b, c: (a @ b) @ c, torch.rand(32, 48), torch.rand(48, 40), torch.rand(40, 24))
    agree(chain, evaluated)
    assert len(fuse(chain, chain.example).kernels) == 2


def test_a_softmax_is_one_kernel() -> None:
    record = captured(lambda x: torch.softmax(x * 2 + 1, -1), torch.rand(8, 33))
    agree(record, evaluated)
    assert len(fuse(record, record.example).kernels) == 1


@pytest.mark.heavy
def test_a_loss_of_rows_is_made_of_rows_first_where_one_program_would_do_all_of_it() -> None:
    entropy = torch.nn.functional.cross_entropy
    subject = (lambda x, y: entropy(x.float(), y), torch.rand(12, 40).bfloat16(), torch.randint(0, 40, (12,)))
    record = captured(*subject)
    agree(record, evaluated_apart)
    rows, classes = (s.name for s in record.symbols)
    kernels = fuse(record, {rows: 8192, classes: 128_256}, evaluated_apart).kernels
    assert rows_of(kernels[0]) is not None
    assert all(
        Size.of(classes) not in [a.extent for a in stores[0].axes] for stores in kernels
    )  # nothing so large is kept
    assert len(fuse(record, record.example, evaluated).kernels) == 1


@pytest.mark.heavy
def test_what_is_stored_before_others_make_it_needless_is_written_in_its_place() -> None:
    """A loss of rows is stored row by row; then nothing as long as all rows is."""

    def loss(logits: Any, target: Any) -> Any:
        top = torch.logsumexp(logits, 1) - logits.gather(1, target.clamp(min=0)[:, None])[:, 0]
        kept = target >= 0
        return (top * kept).sum() / kept.sum().clamp(min=1)

    record = capture_object(loss, (torch.rand(40, 300), torch.randint(0, 300, (40,))), "loss")
    found = fuse(record, {s.name: n for s, n in zip(record.symbols, (8192, 128256), strict=True)}, evaluated_apart)
    sizes = found.sizes
    assert [[a.extent.at(sizes) for a in kernel[0].axes] for kernel in found.kernels] == [[8192], []]
    assert rows_of(found.kernels[0]) is not None


@pytest.mark.heavy
def test_reshapes_that_cut_through_axes_split_them() -> None:
    """Group norm sees channels as groups; a view of it as something else again."""
    layer = nn.GroupNorm(4, 16)
    record = captured(lambda x: layer(x).reshape(x.shape[0], 8, -1).transpose(1, 2) * 2, torch.rand(3, 16, 5, 4))
    agree(record, evaluated)
    agree(record, evaluated_apart)


@pytest.mark.heavy
def test_padding_slices_and_joins() -> None:
    def subject(x: Any, y: Any) -> Any:
        joined = torch.cat([x[:, 1:], torch.nn.functional.pad(y, (2, 1)), x.flip(1)], 1)
        return joined.unsqueeze(1).expand(-1, 3, -1) * torch.arange(3.0)[:, None]

    record = captured(subject, torch.rand(4, 7), torch.rand(4, 5))
    agree(record, evaluated)


@pytest.mark.heavy
def test_lookups_and_masks() -> None:
    table = nn.Embedding(11, 6)
    record = captured(
        lambda i, m: torch.where(m, table(i).sum(-1), -1.0), torch.randint(0, 11, (5, 4)), torch.rand(5, 4) > 0.5
    )
    agree(record, evaluated)


@pytest.mark.heavy
@pytest.mark.parametrize("options", [{"stride": 2, "padding": 1}, {"dilation": 2}, {"groups": 2}], ids=str)
@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_convolutions_both_ways(kind: Any, options: dict[str, int]) -> None:
    layer = kind(4, 6, 3, **options)
    record = captured(lambda x: layer(x), torch.rand(2, 4, 9, 8))
    agree(record, evaluated)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": (2, 1)},
        {"groups": 2},
        {"stride": (1, 3), "groups": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_derivatives_of_convolutions_both_ways(kind: Any, options: dict[str, Any]) -> None:
    layer = kind(4, 6, 3, **options)
    x = torch.rand(2, 4, 9, 8)
    others = [list(v) for v in (layer.stride, layer.padding, layer.dilation)]

    class Derivatives(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = layer.weight

        def forward(self, grad: Any, x: Any) -> Any:
            rest = kind is nn.ConvTranspose2d, [0, 0], layer.groups, [True, True, True]
            return torch.ops.aten.convolution_backward(grad, x, self.weight, [6], *others, *rest)

    record = captured(Derivatives(), layer(x).detach(), x)
    assert [n.op for n in record.nodes] == ["aten.convolution_backward.default"]
    agree(record, evaluated)
    agree(record, evaluated_apart)


@pytest.mark.heavy
@pytest.mark.parametrize("options", [(3, 2, 1), (2, None, 0), ((3, 2), (2, 3), (1, 0))], ids=str)
def test_derivatives_of_averages(options: tuple[Any, ...]) -> None:
    size, stride, padding = ([v] if isinstance(v, int) else list(v or ()) for v in options)
    x = torch.rand(2, 3, 9, 8)
    made = torch.nn.functional.avg_pool2d(x, options[0], options[1], options[2])

    def derivative(grad: Any, x: Any) -> Any:
        return torch.ops.aten.avg_pool2d_backward(grad, x, size, stride, padding, False, True, None)

    record = captured(derivative, made, x)
    agree(record, evaluated)


@pytest.mark.heavy
def test_the_derivative_of_an_average_that_is_cut_at_the_border_is_told() -> None:
    x = torch.rand(2, 3, 9, 8)
    made = torch.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
    record = captured(
        lambda g, x: torch.ops.aten.avg_pool2d_backward(g, x, [3, 3], [2, 2], [1, 1], False, False, None), made, x
    )
    with pytest.raises(NotLowered, match="cut at the border"):
        fuse(record, record.example, evaluated)


@pytest.mark.heavy
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_in_either_mode(training: bool) -> None:
    def normed(x: Any, weight: Any, bias: Any, mean: Any, var: Any) -> Any:
        return torch.ops.aten.native_batch_norm(
            x, weight, bias, None if training else mean, None if training else var, training, 0.1, 1e-5
        )[0]

    record = captured(normed, torch.rand(3, 4, 5, 2), *(torch.rand(4) for _ in range(4)))
    agree(record, evaluated)


@pytest.mark.heavy
@pytest.mark.parametrize("window", [(3, 2, 1, 1), (2, 2, 0, 1), (2, 1, 0, 2)], ids=str)
def test_maxima_with_their_places_and_derivatives(window: tuple[int, ...]) -> None:
    given = [[n, n] for n in window]

    def places(x: Any) -> Any:
        return torch.ops.aten.max_pool2d_with_indices(x, *given)

    def derivative(grad: Any, x: Any) -> Any:
        return torch.ops.aten.max_pool2d_with_indices_backward(grad, x, *given, False, places(x)[1])

    x = torch.rand(2, 3, 9, 8)
    agree(captured(places, x), evaluated)
    record = captured(derivative, places(x)[0], x)
    agree(record, evaluated)
    agree(record, evaluated_apart)


@pytest.mark.heavy
def test_outputs_that_come_twice_or_are_inputs_are_written_for_themselves() -> None:
    def subject(x: Any, y: Any) -> Any:
        total = torch.relu(x) + y
        return total, total * 2, total, total

    record = captured(subject, torch.rand(5, 7), torch.rand(5, 7))
    assert len({(o.ref.ref, o.ref.part) for o in record.outputs}) == 2
    agree(record, evaluated)
    agree(record, evaluated_apart)
    fusion = fuse(record, record.example, evaluated)
    assert len(set(fusion.graph.outputs)) == len(fusion.graph.outputs) == 4
    given = record.model_copy(
        update={"outputs": (*record.outputs, Output(ref=Ref(ref="x", part=0), type=record.inputs[0].type))}
    )
    assert [n.op for n in distinct(given).nodes[-3:]] == ["aten.clone.default"] * 3
    agree(given, evaluated)
    plain = captured(lambda x: x + 1, torch.rand(4))
    assert distinct(plain) is plain


@pytest.mark.heavy
def test_long_sums_of_unlike_things_are_kernels_of_their_own() -> None:
    """The norm of several gradients: in one kernel one thread would add them all up, and their squares were stored for it."""

    def norm(a: Any, b: Any, c: Any) -> Any:
        whole = torch.sqrt((a**2).sum() + (b**2).sum() + (c**2).sum())
        return a / whole, b / whole, c / whole

    record = captured(norm, torch.rand(40, 33), torch.rand(17, 90), torch.rand(300))
    for model in (evaluated, evaluated_apart):
        agree(record, model)
        fusion = fuse(record, record.example, model)
        sums = [stores for stores in fusion.kernels if reductions_of(stores)]
        assert all(len(reductions_of(stores)) == 1 for stores in sums)
        assert all(not s.axes for stores in sums for s in stores)
        assert len(fusion.kernels) == 6


@pytest.mark.heavy
def test_what_stands_behind_a_product_stays_there_beside_another_sum() -> None:
    record = captured(lambda x, w, y: x @ w + y.sum(), torch.rand(64, 128), torch.rand(128, 96), torch.rand(700))
    agree(record, evaluated)
    (product,) = [s for stores in fuse(record, record.example).kernels for s in stores if len(s.axes) == 2]
    assert is_product(reductions_of([product])[0])
