"""From torch.export's program to a graph record. Runs in the capture process; what has no place in a record is refused."""

from __future__ import annotations

import keyword
import operator
import os
import re
from typing import Any, cast

from pydantic import ValidationError

from kernellab.core.errors import TaskRefused
from kernellab.graph.asked import with_conditions
from kernellab.graph.free_sizes import DependsOnData, FreeSizes, NeedsFixedSizes
from kernellab.graph.need_torch import need_torch
from kernellab.graph.ops.refused import RANDOM, refusal
from kernellab.graph.record import (
    FLOATS,
    INTEGERS,
    MOST_CONSTANT,
    Arg,
    Constant,
    Dtype,
    DtypeName,
    Expression,
    GraphInput,
    GraphRecord,
    Node,
    Output,
    Plain,
    Ref,
    Role,
    Special,
    TensorType,
)  # fmt: skip

_NO_VALUE = ("aten._assert", "aten.sym_constrain", "aten._assert_tensor_metadata", "aten._assert_scalar")
_NOT_READING = (
    "aten.full_like", "aten.zeros_like", "aten.ones_like", "aten.fill", "aten.slice", "aten.select", "aten.copy",
    "aten.slice_scatter", "aten.select_scatter",
)  # fmt: skip
_DROPPED = ("device", "layout", "pin_memory", "memory_format")
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class NeedsRealTensors(Exception):
    """The graph holds values that a capture without data does not know."""


def translate(program: Any, name: str, file: str) -> GraphRecord:
    """`program`: an ExportedProgram after run_decompositions. `file`: whose source lines are worth naming."""
    return _Translation(program, file).record(name)


class _Translation:
    def __init__(self, program: Any, file: str) -> None:
        self.torch = need_torch()
        self.program = program
        self.file = file
        self.sizes = FreeSizes(program)
        self.values: dict[Any, Arg] = {}  # an FX node -> what stands for it in the record
        self.inputs: list[GraphInput] = []
        self.constants: list[Constant] = []
        self.nodes: list[Node] = []
        self.fixed: dict[str, Plain] = {}
        self.names: set[str] = set()

    def record(self, name: str) -> GraphRecord:
        graph = self.program.graph
        self._refuse_writes()
        specs = {spec.arg.name: spec for spec in self.program.graph_signature.input_specs}
        outputs: tuple[Output, ...] = ()
        for node in graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, specs[node.name])
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                outputs = self._outputs(node.args[0])
            else:
                raise TaskRefused(
                    f"{self._at(node)}the graph branches ({node.target})", "write it without torch.cond or loops"
                )
        try:
            found = GraphRecord(
                name=name, torch=str(self.torch.__version__), symbols=self.sizes.symbols,
                inputs=tuple(self.inputs), constants=tuple(self.constants), nodes=tuple(self.nodes), outputs=outputs,
                requires=self.sizes.conditions(self.inputs), fixed=self.fixed,
            )  # fmt: skip
            return with_conditions(found)
        except ValidationError as err:
            raise NeedsFixedSizes(str(err)) from None

    def _refuse_writes(self) -> None:
        signature = self.program.graph_signature
        if written := sorted(signature.user_inputs_to_mutate.values()):
            raise TaskRefused(
                f"it writes to its input {', '.join(written)}",
                "copy the input first: x = x.clone(), or use x + y for x += y",
            )
        written = sorted(signature.buffers_to_mutate.values())
        if any("running_" in buffer for buffer in written):
            raise TaskRefused(
                f"a normalisation in training mode writes its running statistics ({written[0]})",
                "call .eval() on the module, or capture it in evaluation mode",
                "training",
            )
        if written:
            raise TaskRefused(f"it writes to its buffer {', '.join(written)}", "return the new value instead")

    # --- inputs

    def _placeholder(self, node: Any, spec: Any) -> None:
        kind = spec.kind.name
        value = node.meta["val"]
        if kind == "TOKEN":
            return  # stands for an effect, such as a check; what makes it is refused by name
        if not isinstance(value, self.torch.Tensor):
            self.fixed[node.name] = value if isinstance(value, bool | int | float | str | None) else repr(value)
            self.values[node] = self._plain(value, node)
            return
        if kind != "USER_INPUT" and not node.users:
            return  # a counter, or a weight that only training reads
        if kind in ("CONSTANT_TENSOR", "BUFFER") and self._inlined(node, spec):
            return
        roles: dict[str, Role] = {"USER_INPUT": "input", "PARAMETER": "weight", "BUFFER": "buffer"}
        role = roles.get(kind, "constant")
        name = node.name if role == "input" else spec.target.replace(".", "_")
        found = self._type(value, node, role)
        self.values[node] = Ref(ref=self._name(name))
        source = "" if role == "input" else spec.target
        self.inputs.append(GraphInput(name=self._ref(node).ref, role=role, type=found, source=source))

    def _inlined(self, node: Any, spec: Any) -> bool:
        """Whether a tensor written in the code went into the record itself."""
        if spec.kind.name != "CONSTANT_TENSOR":
            return False
        tensor = self.program.constants.get(spec.target)
        if tensor is None or tensor.device.type == "meta" or isinstance(tensor, self._fake()):
            raise NeedsRealTensors(spec.target)
        if tensor.numel() > MOST_CONSTANT:
            return False
        name = self._name(node.name)
        values = tuple(_json(v) for v in tensor.detach().reshape(-1).tolist())
        self.constants.append(Constant(name=name, type=self._type(tensor, node, "constant"), values=values))
        self.values[node] = Ref(ref=name)
        return True

    def _fake(self) -> Any:
        from torch._subclasses.fake_tensor import FakeTensor

        return FakeTensor

    # --- calls

    def _call(self, node: Any) -> None:
        value = node.meta.get("val")
        if self._to_be_filled(node):
            node.target, node.args = self.torch.ops.aten.full.default, (node.args[0], 0)
        target = str(node.target)
        if node.target is operator.getitem:
            source, part = node.args
            if source in self.values:
                self.values[node] = Ref(ref=self._ref(source).ref, part=part)
            return
        if target.startswith(_NO_VALUE):
            return
        if isinstance(value, self.torch.SymInt | self.torch.SymFloat | self.torch.SymBool | int | float | bool):
            self._refuse_op(node)
            self.values[node] = self._plain(value, node)
            return
        self._refuse_op(node)
        results = value if isinstance(value, list | tuple) else (value,)
        types = tuple(None if r is None else self._type(r, node, "") for r in results)
        name = self._name(node.name)
        kwargs = {k: self._plain(v, node) for k, v in node.kwargs.items() if k not in _DROPPED}
        self.nodes.append(
            Node(
                name=name, op=target, args=[self._plain(a, node) for a in node.args], kwargs=kwargs, results=types,
                line=self._line(node),
            )
        )  # fmt: skip
        self.values[node] = Ref(ref=name)

    def _to_be_filled(self, node: Any) -> bool:
        """Unwritten memory whose shape is read, or that is written to piece by piece: zeros will do."""
        made = str(node.target) in ("aten.empty.memory_format", "aten.empty_permuted.default")
        return made and all(str(user.target).startswith(_NOT_READING) for user in node.users)

    def _refuse_op(self, node: Any) -> None:
        target = str(node.target)
        if target == "with_effects":  # torch's way of keeping an operator that may raise
            target = str(node.args[1])
        if target.startswith("aten.") and (reason := refusal(target)):
            cause = "random" if reason is RANDOM else ""
            raise TaskRefused(f"{self._at(node)}{target}: {reason.what}", reason.fix, cause)
        if not target.startswith("aten.") and not self._on_sizes(node):
            raise TaskRefused(
                f"{self._at(node)}{target} is not a core ATen operator", "write it with torch's own functions"
            )

    def _on_sizes(self, node: Any) -> bool:
        return isinstance(
            node.meta.get("val"), self.torch.SymInt | self.torch.SymFloat | self.torch.SymBool | int | float | bool
        )

    def _plain(self, value: Any, node: Any) -> Any:
        """An argument as the record holds it."""
        torch = self.torch
        if isinstance(value, torch.fx.Node):
            if value not in self.values:
                raise TaskRefused(
                    f"{self._at(node)}{node.target} reads a value that has no record", "report this module"
                )
            return self.values[value]
        if isinstance(value, list | tuple):
            return [self._plain(v, node) for v in value]
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return self._number(value.node.expr, node)
        if isinstance(value, torch.dtype):
            return DtypeName.model_validate({"dtype": _dtype_name(value)})
        if isinstance(value, torch.device | torch.layout | torch.memory_format):
            return None
        if isinstance(value, complex):
            raise TaskRefused(f"{self._at(node)}a complex number", "complex numbers are not supported")
        return value if isinstance(value, bool | int | str | None) else _json(value)

    def _number(self, expression: Any, node: Any) -> int | Expression:
        found = self._extent(expression, node)
        return found if isinstance(found, int) else Expression(expr=found)

    # --- types and sizes

    def _type(self, tensor: Any, node: Any, role: str) -> TensorType:
        dtype = _dtype_name(tensor.dtype)
        if dtype not in (*FLOATS, *INTEGERS):
            raise TaskRefused(
                f"{self._at(node)}{node.name} is {dtype}", f"use one of {', '.join(FLOATS[1:] + INTEGERS)}"
            )
        if tensor.layout is not self.torch.strided:
            raise TaskRefused(f"{self._at(node)}{node.name} is sparse", "use dense tensors")
        found = TensorType.model_construct(
            dtype=cast(Dtype, dtype),
            extents=tuple(self._extent(getattr(getattr(n, "node", n), "expr", n), node) for n in tensor.shape),
        )
        if role == "input" and 0 in found.extents:
            raise TaskRefused(
                f"the input {node.name} has no elements: {list(tensor.shape)}", "give it a size above zero"
            )
        return found

    def _extent(self, expression: Any, node: Any) -> int | str:
        try:
            return self.sizes.extent(expression)
        except DependsOnData:
            raise TaskRefused(
                f"{self._at(node)}{node.target}: the size of its result depends on the data, not only on the inputs' sizes",
                "use a mask or a fixed size instead",
            ) from None

    # --- outputs

    def _outputs(self, results: Any) -> tuple[Output, ...]:
        kinds = [spec.kind.name for spec in self.program.graph_signature.output_specs]
        outputs = []
        for number, (node, kind) in enumerate(zip(results, kinds, strict=True)):
            if kind != "USER_OUTPUT":
                continue
            value = node.meta.get("val") if isinstance(node, self.torch.fx.Node) else node
            if not isinstance(value, self.torch.Tensor):
                raise TaskRefused(f"output {number} is no tensor ({value!r})", "return tensors only")
            if (source := self._viewed(node)) is not None:
                raise TaskRefused(
                    f"output {number} is the input {source} itself or a view of it",
                    "return a copy, for example y.clone()",
                )
            outputs.append(Output(ref=self._ref(node), type=self._type(value, node, "")))
        if not outputs:
            raise TaskRefused("it returns no tensor", "return what it computes")
        return tuple(outputs)

    def _viewed(self, node: Any) -> str | None:
        from kernellab.graph.ops.table import is_view

        while node.op == "call_function":
            if node.target is not operator.getitem and not is_view(str(node.target)):
                return None
            node = node.args[0]
        return str(node.name) if node.op == "placeholder" else None

    # --- words

    def _ref(self, node: Any) -> Ref:
        found = self.values[node]
        assert isinstance(found, Ref), node
        return found

    def _name(self, wanted: str) -> str:
        """That no other value has, and that Python and C can have: layers of a Sequential are numbers."""
        wanted = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        wanted = wanted if wanted.isidentifier() and not keyword.iskeyword(wanted) else f"layer_{wanted}"
        name, count = wanted, 1
        while name in self.names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(name)
        return name

    def _line(self, node: Any) -> str:
        """The innermost line of the user's own file."""
        frames = [m for m in _FRAME.finditer(node.meta.get("stack_trace") or "") if m["file"] == self.file]
        return f"{os.path.basename(self.file)}:{frames[-1]['line']}" if frames else ""

    def _at(self, node: Any) -> str:
        line = self._line(node)
        return f"{line}: " if line else ""


def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _json(value: Any) -> Any:
    """A number that JSON can hold."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return Special(float="nan" if value != value else "inf" if value > 0 else "-inf")
    if not isinstance(value, bool | int | float):
        raise TaskRefused(f"{value!r} cannot be part of a graph", "use tensors and plain numbers")
    return value
