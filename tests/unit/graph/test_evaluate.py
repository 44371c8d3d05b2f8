from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.graph.conftest import record_of  # noqa: E402
from tests.unit.graph.draws import named  # noqa: E402
from tests.unit.graph.modules import CASES  # noqa: E402

from kernellab.graph import extents  # noqa: E402
from kernellab.graph.evaluate import evaluate  # noqa: E402
from kernellab.graph.ops.shapes import Shape  # noqa: E402
from kernellab.graph.ops.table import row  # noqa: E402
from kernellab.graph.record import DtypeName, Expression, GraphRecord, Ref, Special  # noqa: E402


def in_float64(subject: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    wide = copy.deepcopy(subject).double() if isinstance(subject, torch.nn.Module) else subject
    with torch.no_grad():
        result = wide(*(x.double() if x.is_floating_point() else x for x in inputs))
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.heavy
@pytest.mark.sample(9, of="modules")
@pytest.mark.parametrize("name", CASES)
def test_the_graph_in_float64_is_the_module_in_float64(name: str) -> None:
    case, record = CASES[name], record_of(name)
    got = evaluate(record, named(record, case))
    for output, wanted in zip(got, in_float64(case.subject, case.inputs), strict=True):
        torch.testing.assert_close(output, wanted.to(output.dtype), rtol=1e-12, atol=1e-13)


@pytest.mark.sample(9, of="modules")
@pytest.mark.parametrize("name", CASES)
def test_every_operator_has_a_row_with_a_scale_rule(name: str) -> None:
    missing = [n.op for n in record_of(name).nodes if (found := row(n.op)) is None or found.scale is None]
    assert missing == []


@pytest.mark.sample(9, of="modules")
@pytest.mark.parametrize("name", CASES)
def test_shape_rules_give_the_shapes_that_torch_found(name: str) -> None:
    record = record_of(name)
    checked = 0
    for node in record.nodes:
        found = row(node.op)
        if found is None or found.shape is None:
            continue
        args = [_shaped(a, record) for a in node.args]
        shapes = found.shape(args, {k: _shaped(v, record) for k, v in node.kwargs.items()})
        for shape, result in zip(shapes, node.results, strict=True):
            assert result is None or shape == result.shape(record.example), node
        checked += 1
    assert checked


def _shaped(value: Any, record: GraphRecord) -> Any:
    match value:
        case Ref():
            return Shape(record.types[(value.ref, value.part)].shape(record.example))
        case Expression():
            return extents.evaluate(value.expr, record.example)
        case DtypeName() | Special():
            return None
        case list():
            return [_shaped(v, record) for v in value]
    return value


@pytest.mark.heavy
def test_another_size_than_the_captured_one() -> None:
    record, case = record_of("transposed convolutions"), CASES["transposed convolutions"]
    inputs = (torch.randn(3, 6, 5), torch.randn(3, 6, 7, 17), torch.randn(1, 3, 5, 4, 6))
    got = evaluate(record, named(record, case, inputs))
    for output, wanted in zip(got, in_float64(case.subject, inputs), strict=True):
        torch.testing.assert_close(output, wanted, rtol=1e-12, atol=1e-13)


def test_a_wrong_shape_is_named() -> None:
    record, case = record_of("layer norm"), CASES["layer norm"]
    with pytest.raises(ValueError, match=r"has shape \(16, 47\), not \(16, 48\)"):
        evaluate(record, named(record, case, (torch.randn(16, 47),)))


def test_a_missing_input_is_named() -> None:
    record = record_of("layer norm")
    with pytest.raises(ValueError, match="no tensor for"):
        evaluate(record, {"weight": torch.ones(48)})


@pytest.mark.heavy
def test_as_written_the_graph_gives_what_the_module_gives() -> None:
    record, case = record_of("linear gelu"), CASES["linear gelu"]
    (got,) = evaluate(record, named(record, case), wide=False)
    with torch.no_grad():
        assert torch.equal(got, case.subject(*case.inputs))
