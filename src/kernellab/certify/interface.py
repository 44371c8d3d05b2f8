"""A task's calling conventions as pieces of text, for the templates of exported packages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kernellab.certify.c_text import C_TYPES
from kernellab.certify.inline_source import NotInlined, inline_source
from kernellab.certify.names import fresh, fresh_function, plain_name, taken_locally
from kernellab.core.errors import UsageError
from kernellab.tasks.dtypes import limits
from kernellab.tasks.modules.shapes import ONLY
from kernellab.tasks.spec import Buffer, Task

_WORST = """    with np.errstate(all="ignore"):
        given = [a.astype(np.float64) if a.dtype.kind not in "iu" else a for a in inputs]
        found = reference.reference(*given)
        wanted = found if isinstance(found, tuple) else (found,)
        SCALES
        most = 0.0
        for got, value, size, (eps, tiny, quiet), (ulp, slack) in zip(outputs, wanted, sizes, LIMITS, ALLOWED[dims]):
            got, value = np.asarray(got, np.float64), np.asarray(value, np.float64)
            size = size if slack is None else np.abs(value) + slack * size
            same = (got == value) | (np.isnan(got) & np.isnan(value))
            off = np.maximum(np.abs(got - value) - quiet, 0) / (ulp * eps * np.maximum(size, tiny))
            off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
            most = max(most, float(off.max()))
        return most"""
_WORST_EXACT = """    wanted = reference.answers(*inputs)
    same = all(np.array_equal(got, value, equal_nan=True) for got, value in zip(outputs, wanted))
    return 0.0 if same else np.inf"""


class Interface:
    """Names and expressions of one task, by what they are called in the templates."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.function = fresh_function(task.name)
        self.package = f"klab_{plain_name(task.name)}"
        self.dims = task.dim_names
        self.about = task.about[0].upper() + task.about[1:]
        places = {name: _place(task, name) for name in self.dims if name != ONLY}
        buffers = range(len(task.inputs) + len(task.outputs))
        self._addresses, self._sizes = [f"at_{n}" for n in buffers], [f"size_{n}" for n in buffers]
        self._outs = [f"out_{n}" for n in range(len(task.outputs))]
        own = {*taken_locally(), *self._addresses, *self._sizes, *self._outs}
        taken = {*own, *self.dims}
        self._named: dict[str, str] = {}
        for buffer in task.inputs:
            self._named[buffer.name] = fresh(buffer.name, {*taken, *self._named.values()})
        self._dims: dict[str, str] = {}
        taken = {*own, *self._named.values()}
        for dim in self.dims:
            self._dims[dim] = fresh(dim, {*taken, *self._dims.values()})
        self._inputs = list(self._named.values())
        self._places = {n: f"{self._named[b.name]}.shape[{axis}]" for n, (b, axis) in places.items()}
        self._places |= {n: "1" for n in self.dims if n == ONLY}
        self.expression = _carries(task, "torch")

    def facts(self) -> dict[str, Any]:
        """Everything that a Python template may say."""
        task, ins, outs = self.task, self.task.inputs, self.task.outputs
        dims = list(self._dims.values())
        empty = [f"{self._inputs[0]}.new_empty({self._shape(b)}, dtype=torch.{b.dtype})" for b in outs]
        many = len(outs) > 1
        return {
            "package": self.package,
            "function": self.function,
            "about": self.about,
            "signature": self.signature(),
            "dims": repr(tuple(self.dims)),
            "dim_tuple": _tuple(dims),
            "dim_names": f"({_tuple(dims)})" if len(dims) == 1 else ", ".join(dims),
            "dim_tuple_list": f"({_tuple(dims)})",
            "dims_line": f"{', '.join(dims)} = {', '.join(self._places[n] for n in self.dims)}",
            "buffer_count": len(ins) + len(outs),
            "input_list": self._inputs,
            "input_addresses": self._addresses[: len(ins)],
            "output_addresses": self._addresses[len(ins) :],
            "all_addresses": " | ".join(self._addresses),
            "address_list": ", ".join(self._addresses),
            "call_key": ", ".join(f"{n}.shape, {n}.dtype" for n in self._inputs),
            **self._given_outputs(many),
            "overlap": self._overlap(),
            "size_list": _tuple(self._sizes),
            "input_names": ", ".join(self._inputs),
            "input_name_tuple": repr(tuple(b.name for b in ins)),
            "input_axes": repr(tuple(len(b.extents) for b in ins)),
            "input_shapes": f"({_tuple([self._shape(b) for b in ins])})",
            "input_dtypes": repr(tuple(b.dtype for b in ins)),
            "input_torch_dtypes": f"({_tuple([f'torch.{b.dtype}' for b in ins])})",
            "output_shapes": f"({_tuple([self._shape(b) for b in outs])})",
            "output_dtypes": repr(tuple(b.dtype for b in outs)),
            "output_torch_dtypes": f"({_tuple([f'torch.{b.dtype}' for b in outs])})",
            "returned": "tuple(outputs)" if many else "outputs[0]",
            "out_words": "arrays" if many else "an array",
            "op_inputs": ", ".join(f"{n}: torch.Tensor" for n in self._inputs),
            "op_returns": f"tuple[{', '.join(['torch.Tensor'] * len(outs))}]" if many else "torch.Tensor",
            "torch_outputs": f"[{', '.join(empty)}]",
            "widened": "a.copy()"
            if task.exact
            else 'a.astype(numpy.float64) if a.dtype.kind not in "iu" else a.copy()',
            "bfloat16": any(b.dtype == "bfloat16" for b in (*ins, *outs)),
            "worst": self._worst(),
        }

    def _given_outputs(self, many: bool) -> dict[str, Any]:
        """What a call says of the outputs that it was given: an array, or as many as there are."""
        outs = self._outs
        return {
            "out_key": ", ".join(f"{n}.shape, {n}.dtype" for n in outs),
            "out_list": outs,
            "out_names": ", ".join(outs),
            "out_targets": _tuple(outs) if many else f"({_tuple(outs)})",
            "out_taken": "() if type(out) is _ndarray else out" if many else "(out,) if type(out) is _ndarray else out",
            "all_types": " is ".join(f"type({n})" for n in (*self._inputs, *outs)),
        }

    def signature(self) -> str:
        def said(buffers: Sequence[Buffer]) -> str:
            return ", ".join(f"{b.name}: {b.dtype}[{', '.join(map(str, b.extents))}]" for b in buffers)

        return f"{said(self.task.inputs)} -> {said(self.task.outputs)}"

    def c_facts(self) -> dict[str, Any]:
        ins, outs = self.task.inputs, self.task.outputs
        pointers = [f"const {C_TYPES[b.dtype]} *buf_{b.name}" for b in ins]
        pointers += [f"{C_TYPES[b.dtype]} *buf_{b.name}" for b in outs]
        sizes = [f"long dim_{n}" for n in self.dims]
        return {
            "dim_parameters": ", ".join(sizes),
            "dim_arguments": ", ".join(f"dim_{n}" for n in self.dims),
            "parameters": ", ".join([*pointers, *sizes, "void *work"]),
            "arguments": ", ".join([*(f"buf_{b.name}" for b in (*ins, *outs)), *(f"dim_{n}" for n in self.dims)]),
            "unused_dims": " ".join(f"(void)dim_{n};" for n in self.dims),
        }

    def reference_text(self, torch: bool) -> tuple[str, bool]:
        """The functions of the task that an exported package needs, and whether there is a torch expression."""
        task = self.task
        wanted: dict[str, Callable[..., Any]] = {"reference": task.reference}
        if task.scale is not None and not task.exact:
            wanted["scale"] = task.scale
        with_torch = torch and self.expression
        if with_torch:
            wanted["expression"] = task.gpu_baselines["torch"]
        try:
            return inline_source(wanted), with_torch
        except NotInlined as err:
            raise UsageError(
                f"the reference of task '{task.name}' cannot be carried into a file of its own: {err}",
                "write it as plain functions over NumPy, numbers and other functions of the same file",
            ) from None

    def _overlap(self) -> str:
        """Whether an output overlaps another buffer, from their addresses and sizes."""
        pairs = [(a, b) for b in range(len(self._inputs), len(self._addresses)) for a in range(b)]
        at, size = self._addresses, self._sizes
        return " or ".join(f"-{size[b]} < {at[b]} - {at[a]} < {size[a]}" for a, b in pairs)

    def in_dims(self, expression: object) -> str:
        """Arithmetic over the dims, by the names that they have in the code."""
        return re.sub(r"[^\W\d]\w*", lambda m: self._dims.get(m[0], m[0]), str(expression))

    def _shape(self, buffer: Buffer) -> str:
        """A buffer's extents in a tuple's brackets."""
        return f"({_tuple([self.in_dims(e) for e in buffer.extents])})"

    def _worst(self) -> str:
        if self.task.exact or self.task.captured is not None:  # a module is not tested by a reference in NumPy
            return _WORST_EXACT
        if self.task.scale is not None:
            scales = "found = reference.scale(*given)\n        sizes = found if isinstance(found, tuple) else (found,)"
        else:
            scales = "sizes = [np.abs(v) for v in wanted]"
        known = [limits(b.dtype) for b in self.task.outputs]
        rows = [(k.eps, k.tiny, k.quiet) for k in known]
        return _WORST.replace("SCALES", scales).replace("LIMITS", repr(rows))


def _carries(task: Task, name: str) -> bool:
    """Whether the task has a torch expression that can be written down."""
    if name not in task.gpu_baselines:
        return False
    try:
        inline_source({"reference": task.reference, "expression": task.gpu_baselines[name]})
    except NotInlined:
        return False
    return True


def _place(task: Task, dim: str) -> tuple[Buffer, int]:
    for buffer in task.inputs:
        if dim in buffer.extents:
            return buffer, buffer.extents.index(dim)
    raise UsageError(f"the dim '{dim}' of task '{task.name}' cannot be read from the shape of an input",
                     "give an input an axis of that extent; only such tasks can be exported")  # fmt: skip


def _tuple(items: Sequence[str]) -> str:
    """The inside of a tuple's brackets."""
    return f"{items[0]}," if len(items) == 1 else ", ".join(items)
