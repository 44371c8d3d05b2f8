from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from kernellab.graph import extents
from kernellab.graph.ops.refused import refusal
from kernellab.graph.ops.table import row, table
from kernellab.graph.record import (
    Expression,
    GraphInput,
    GraphRecord,
    Node,
    Output,
    Ref,
    Special,
    Symbol,
    TensorType,
    allowed,
    sizes_from,
)
from kernellab.graph.text import text


def record(**changed: Any) -> GraphRecord:
    made = {
        "name": "Double",
        "torch": "2.9",
        "symbols": (Symbol(name="d0", low=2, high=None, example=4),),
        "inputs": (GraphInput(name="x", role="input", type=TensorType(dtype="float32", extents=("d0", 8))),),
        "nodes": (
            Node(
                name="padded",
                op="aten.constant_pad_nd.default",
                args=[Ref(ref="x"), [0, 0, 0, Expression(expr="d0 % 2")], Special(float="-inf")],
                results=(TensorType(dtype="float32", extents=("d0 + d0 % 2", 8)),),
            ),
        ),
        "outputs": (Output(ref=Ref(ref="padded"), type=TensorType(dtype="float32", extents=("d0 + d0 % 2", 8))),),
        "requires": ("d0 >= 3",),
    }
    return GraphRecord(**{**made, **changed})


def test_json_gives_the_same_record_back() -> None:
    made = record()
    assert GraphRecord.model_validate_json(made.model_dump_json()) == made
    assert GraphRecord.model_validate_json(made.model_dump_json()).digest == made.digest


def test_the_digest_covers_what_is_computed_and_not_what_it_is_called() -> None:
    node = record().nodes[0]
    renamed = record(
        name="Other",
        torch="3.0",
        symbols=(Symbol(name="d0", low=2, high=None, example=9),),
        inputs=(record().inputs[0].model_copy(update={"name": "y"}),),
        nodes=(node.model_copy(update={"args": [Ref(ref="y"), *node.args[1:]], "line": "a.py:3"}),),
    )
    assert renamed.digest == record().digest
    other = record(nodes=(node.model_copy(update={"args": [*node.args[:2], 0.0]}),))
    assert other.digest != record().digest
    assert record(requires=()).digest != record().digest


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"outputs": ()}, "without outputs"),
        ({"outputs": (Output(ref=Ref(ref="z"), type=TensorType(dtype="float32", extents=())),)}, "reads 'z'"),
        ({"symbols": ()}, "unknown sizes"),
        ({"requires": ("d7 > 1",)}, "unknown sizes"),
        ({"version": 2}, "version"),
        ({"inputs": record().inputs * 2}, "two values are called 'x'"),
    ],
)
def test_a_broken_record_cannot_be_made(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        record(**changed)


def test_the_text_says_every_value() -> None:
    assert text(record()).splitlines()[1:] == [
        "  size d0 from 2, example 4",
        "  input x: float32[d0, 8]",
        "  padded = constant_pad_nd.default(x, [0, 0, 0, d0 % 2], -inf) -> float32[d0 + d0 % 2, 8]",
        "  return padded",
    ]


def test_sizes_come_from_shapes() -> None:
    assert sizes_from(record(), {"x": (5, 8)}) == {"d0": 5}
    assert allowed(record(), {"d0": 5})
    assert not allowed(record(), {"d0": 2})
    with pytest.raises(ValueError, match="x has 1 dims, not 2"):
        sizes_from(record(), {"x": (5,)})


@pytest.mark.parametrize(
    ("expression", "value"),
    [("d0*2 - 1", 9), ("(d0 + 1)//2", 3), ("max(d0, 7)", 7), ("-d0 + 6", 1), ("d0 % 3", 2), ("math.floor(d0/2)", 2)],
)
def test_extents_are_arithmetic(expression: str, value: int) -> None:
    assert extents.evaluate(expression, {"d0": 5}) == value


@pytest.mark.parametrize("expression", ["__import__('os')", "d0.real", "[d0]", "d0 if d0 else 1", "d1", "1//0", "d0 +"])
def test_extents_are_nothing_else(expression: str) -> None:
    with pytest.raises(ValueError):
        extents.evaluate(expression, {"d0": 5})


def test_rows_are_found_by_overload_and_by_family() -> None:
    assert row("aten.add.Tensor") is row("aten.add.Scalar") is table()["aten.add"]
    assert row("aten.max.dim") is table()["aten.max.dim"]
    assert row("aten.nowhere.default") is None


def test_no_operator_is_both_refused_and_in_the_table() -> None:
    assert [name for name in table() if refusal(f"{name}.default") is not None] == []


def test_the_package_needs_no_torch_to_be_imported() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import kernellab.graph.capture, kernellab.graph.scale, kernellab.graph.live, kernellab.graph.text\n"
        "from kernellab.graph.ops.table import table; table()\n"
        "from kernellab.graph.need_torch import need_torch\n"
        "try:\n    need_torch()\nexcept Exception as err:\n    print(err.fix)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "kernellab[torch]" in done.stdout


@pytest.mark.parametrize("name", ["x = f()", "lambda", "größe"])
def test_names_are_names(name: str) -> None:
    node = record().nodes[0]
    with pytest.raises(ValidationError, match="is no name"):
        record(nodes=(node.model_copy(update={"kwargs": {name: 1}}),))
    with pytest.raises(ValidationError, match="is no name"):
        record(nodes=(node.model_copy(update={"name": name}),))
    with pytest.raises(ValidationError, match="is no name"):
        record(symbols=(*record().symbols, Symbol(name=name, low=2, high=None, example=4)))


def test_an_operator_with_files_is_in_no_record() -> None:
    node = record().nodes[0].model_copy(update={"op": "aten.from_file.default"})
    with pytest.raises(ValidationError, match="it reads or writes a file"):
        record(nodes=(node,))


def test_an_output_has_the_type_that_it_is_made_in() -> None:
    short = TensorType(dtype="float16", extents=("d0 + d0 % 2", 8))
    with pytest.raises(ValidationError, match="not of the type that it is made in"):
        record(outputs=(Output(ref=Ref(ref="padded"), type=short),))


@pytest.mark.parametrize(
    "expression", ["9 ** 9 ** 9 ** 9", "((d0 ** 64) ** 64) ** 64", "(0 - 1) ** 0.5", "1e300 * 1e300"]
)
def test_sizes_beyond_all_memory_are_told_at_once(expression: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expression)):
        extents.size(expression, {"d0": 4})
