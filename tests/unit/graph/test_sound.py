"""A record that somebody else made names nothing that would do more than compute."""

from __future__ import annotations

import pytest

from kernellab.graph.sound import check_names, check_operator, function_of


@pytest.mark.parametrize("name", ["x=f()", "a b", "1st", "lambda", "", "x²", "ﬁ", "x\n", '"""'])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name"):
        check_names(["x", name])


def test_names_of_captures_are_names() -> None:
    check_names(["x", "_softmax", "layer_0_weight", "add_1", "d0"])


@pytest.mark.parametrize("op", ["aten.add", "prims.add.default", "aten.add.Tensor; x", "aten.__import__('os').x"])
def test_what_is_no_operator_is_refused(op: str) -> None:
    with pytest.raises(ValueError, match="is no operator"):
        check_operator(op)


@pytest.mark.parametrize("op", ["aten.from_file.default", "aten.save.default"])
def test_operators_do_not_touch_files(op: str) -> None:
    with pytest.raises(ValueError, match="a file"):
        check_operator(op)


@pytest.mark.parametrize(
    "op", ["aten.fill_.Scalar", "aten.add.out", "aten.set_.source_Tensor", "aten.warn.default", "aten.size.int"]
)
def test_operators_only_make_tensors(op: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="does more than make tensors"):
        function_of(torch, op)


@pytest.mark.parametrize("op", ["aten.add.Tensor", "aten.split.Tensor", "aten.topk.default", "aten.max.dim"])
def test_operators_of_graphs_are_found(op: str) -> None:
    torch = pytest.importorskip("torch")
    assert function_of(torch, op) is getattr(getattr(torch.ops.aten, op.split(".")[1]), op.split(".")[2])


def test_an_operator_that_torch_does_not_have_is_told() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"has no aten\.nothing\.default"):
        function_of(torch, "aten.nothing.default")
