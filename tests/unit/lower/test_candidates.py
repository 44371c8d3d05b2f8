"""What nobody expects of a graph: long chains, many nodes, names that are no names."""

from __future__ import annotations

import ast

import pytest

from kernellab.graph.record import GraphInput, GraphRecord, Node, Output, Ref, TensorType
from kernellab.lower.candidates import written
from kernellab.lower.fusion import fuse
from kernellab.lower.site import NotLowered

FLOATS = TensorType(dtype="float32", extents=(8, 16))


def chain(length: int, op: str = "aten.silu.default", name: str = "chain", given: str = "x") -> GraphRecord:
    """So many operations one after the other."""
    nodes = [
        Node(name=f"n{i}", op=op, args=[Ref(ref=f"n{i - 1}" if i else given)], results=(FLOATS,)) for i in range(length)
    ]
    return GraphRecord(
        name=name, torch="2", symbols=(), inputs=(GraphInput(name=given, role="input", type=FLOATS),), nodes=tuple(nodes),
        outputs=(Output(ref=Ref(ref=f"n{length - 1}"), type=FLOATS),),
    )  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("language", ["c", "triton"])
def test_a_long_chain_is_cut_into_kernels_that_can_be_written(language: str) -> None:
    record = chain(400)
    assert len(fuse(record, {}).kernels) == 7
    for found in written(record, language, {}):
        ast.parse(found.text)


def test_a_graph_that_is_too_large_is_refused_in_words() -> None:
    with pytest.raises(NotLowered, match="a graph of 5000 operations; 1000 is the most so far"):
        written(chain(5000), "c", {})


@pytest.mark.parametrize("name", ['"""\nimport os\n"""', "a\\", "<lambda>", "int", "while", "1st", "ü b"])
def test_a_name_does_nothing_in_a_text(name: str) -> None:
    for language in ("c", "triton"):
        for found in written(chain(2, name=name), language, {}):
            body = ast.parse(found.text).body
            kinds = {type(n) for n in body}
            assert kinds <= {ast.Expr, ast.Assign, ast.Import, ast.ImportFrom, ast.FunctionDef}
            assert "import os" not in [ast.unparse(n) for n in body]
            assert found.name.replace("_", "").isalnum()


@pytest.mark.parametrize("given", ["int", "kernel", "l", "exp", "i0", "tl", "def_", "x__"])
def test_tensors_keep_names_that_a_language_can_have(given: str) -> None:
    for language in ("c", "triton"):
        for found in written(chain(2, given=given), language, {}):
            ast.parse(found.text)


def test_an_operator_without_a_rule_is_named_with_its_line() -> None:
    with pytest.raises(NotLowered, match=r"there is no rule for aten\.special_i0\.default"):
        written(chain(2, "aten.special_i0.default"), "c", {})


def test_an_output_that_is_an_input_is_copied() -> None:
    record = chain(2).model_copy(update={"outputs": (Output(ref=Ref(ref="x"), type=FLOATS),)})
    (text,) = written(record, "c", {})
    assert "out[i1] = x[i1];" in text.text
