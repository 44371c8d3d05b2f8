"""torch.export, tried from the cheapest way to the dearest: without data first, with free sizes first.

On torch's meta device tensors have sizes and no contents, so an example of gigabytes costs nothing. A module that looks at
its data while it is made is captured with real tensors.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.graph.backward import differentiated
from kernellab.graph.forms import Form, form_of
from kernellab.graph.free_sizes import NeedsFixedSizes
from kernellab.graph.need_torch import need_torch
from kernellab.graph.ops.refused import refusal
from kernellab.graph.record import GraphRecord, Seen
from kernellab.graph.source import Subject, check_devices, told
from kernellab.graph.translate import NeedsRealTensors, translate

MOST_DRAWN = 512 << 20
"""Bytes of example inputs and weights up to which they are drawn for real, to note what they hold."""

_PIECE = 1 << 18
"""Elements of a tensor that are looked at together: as float64 they fit a core's cache."""

_DROPOUTS = tuple(f"aten.{kind}dropout.default" for kind in ("", "alpha_", "feature_", "feature_alpha_"))
BROKEN = "broken"
"""The cause of a refusal that is the user's own code's."""
Make = Callable[[str], Subject]
"""Makes the module and its inputs on a device: "meta" or "cpu"."""


def capture_subject(
    make: Make, name: str, file: str, devices: tuple[str, ...] = ("meta", "cpu"), backward: bool = False
) -> GraphRecord:
    """The record, or TaskRefused with the reason that the last and most complete attempt gave."""
    failure: BaseException | None = None
    for device in devices:
        try:
            subject = make(device)
            check_devices(subject)
        except Exception as err:  # noqa: BLE001  the user's code: the last attempt's error is told
            failure = err
            continue
        for free in (True, False):
            try:
                program = exported(subject, free)
                core = differentiated(program) if backward else in_core(program)
                record = with_seen(translate(core, name, file), _seen(make, subject, device))
                return record if backward else record.model_copy(update={"written": _written(program, record)})
            except NeedsRealTensors as err:
                failure = err
                break
            except TaskRefused:
                raise
            except Exception as err:  # noqa: BLE001  torch's and the user's errors: another attempt, or told
                failure = err if free or isinstance(failure, NeedsFixedSizes) else failure
    assert failure is not None
    raise explain(failure, file) from None


def _written(program: Any, record: GraphRecord) -> GraphRecord | None:
    """The same with the operators that the module's code calls: torch may do at once what is many core ones. Only those that
    no record may hold are core ones. None where all are, or where it cannot be held."""
    try:
        _drop_dropouts(program.graph)
        whole = program if _may_stand(program.graph, {n.op for n in record.nodes}) else _without_refused(program)
        found = translate(whole, record.name, "")
    except Exception:  # noqa: BLE001  torch's own: nothing depends on it but how fast a baseline is
        return None
    same = [n.op for n in found.nodes] == [n.op for n in record.nodes]
    ends = ([(i.name, i.type) for i in g.inputs] + [o.type for o in g.outputs] for g in (found, record))
    return found if not same and next(ends) == next(ends) else None


def _without_refused(program: Any) -> Any:
    table = need_torch().export.default_decompositions()
    return program.run_decompositions({op: table[op] for op in list(table) if refusal(str(op))})


def _may_stand(graph: Any, core: set[str]) -> bool:
    """Whether that would change nothing: it takes a third of a capture. Torch takes apart what may give its input back or
    writes to it, and keeps all else."""
    called = {node.target for node in graph.nodes if node.op == "call_function"} - {operator.getitem}
    return all(str(op) in core or _is_kept(op) for op in called)


def _is_kept(op: Any) -> bool:
    if op.namespace != "aten" or need_torch().Tag.maybe_aliasing_or_mutating in op.tags or refusal(str(op)):
        return False
    return not op._schema.is_mutable and all(a.alias_info is None for a in op._schema.arguments)


def _drop_dropouts(graph: Any) -> None:
    """What has a record has none that does anything; torch would copy their input, and a module does not."""
    for node in list(graph.nodes):
        if str(node.target) in _DROPOUTS and all(user.op != "output" for user in node.users):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def in_core(program: Any) -> Any:
    """In torch's core operators, of which the table knows all that tasks can have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with need_torch().no_grad():
            return program.run_decompositions()


def exported(subject: Subject, free: bool) -> Any:
    """As the module is written."""
    torch = need_torch()
    auto = torch.export.Dim.AUTO
    shapes = tuple(
        dict.fromkeys(range(x.dim()), auto) if free and isinstance(x, torch.Tensor) else None for x in subject.inputs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.no_grad():
            return torch.export.export(
                subject.module, subject.inputs, dynamic_shapes=_by_parameter(subject, shapes), strict=False
            )


def _by_parameter(subject: Subject, shapes: tuple[Any, ...]) -> Any:
    """As torch.export wants them where forward takes *args."""
    import inspect

    parameters = list(inspect.signature(subject.module.forward).parameters.values())
    if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return {parameters[0].name: shapes}
    return shapes


def _seen(make: Make, subject: Subject, device: str) -> dict[str, Seen]:
    """What inputs and weights hold, by name, where they are small enough to be drawn."""
    torch = need_torch()
    if _bytes(subject) > MOST_DRAWN:
        return {}
    if device == "meta":
        try:
            subject = make("cpu")
        except Exception:  # noqa: BLE001  the user's code; the graph is known, only the example's values are not
            return {}
    named = {**dict(subject.module.named_parameters()), **dict(subject.module.named_buffers())}
    names = _input_names(subject)
    named |= {n: x for n, x in zip(names, subject.inputs, strict=False) if isinstance(x, torch.Tensor)}
    found = {n: seen for n, x in named.items() if (seen := _summary(x)) is not None}
    return found | {
        n: found[n].model_copy(update={"form": _form(x)}) for n, x in subject.module.named_buffers() if n in found
    }


def _form(tensor: Any) -> Form:
    torch = need_torch()
    value = tensor.detach().cpu()
    return form_of((value.float() if value.dtype == torch.bfloat16 else value).numpy())


def with_seen(record: GraphRecord, seen: dict[str, Seen]) -> GraphRecord:
    inputs = tuple(i.model_copy(update={"seen": seen.get(i.source or i.name)}) for i in record.inputs)
    return record.model_copy(update={"inputs": inputs})


def _input_names(subject: Subject) -> list[str]:
    import inspect

    return list(inspect.signature(subject.module.forward).parameters)


def _bytes(subject: Subject) -> int:
    torch = need_torch()
    tensors = [*subject.module.parameters(), *subject.module.buffers(), *subject.inputs]
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def _summary(tensor: Any) -> Seen | None:
    """Piece by piece: in float64 a large example would go through memory six times. Minus infinity is counted apart."""
    low, high, total, zeros, count = math.inf, -math.inf, 0.0, 0, 0
    for piece in tensor.detach().reshape(-1).split(_PIECE) if tensor.numel() else ():
        wide = piece.double()
        shown = wide if float(wide.min()) != -math.inf else wide[wide != -math.inf]
        if not shown.numel():
            continue
        least, most = (float(v) for v in shown.aminmax())
        if not (math.isfinite(least) and math.isfinite(most)):
            return None
        low, high, total = min(low, least), max(high, most), total + float(shown.sum())
        zeros, count = zeros + shown.numel() - int(shown.count_nonzero()), count + shown.numel()
    if not count:
        return None
    return Seen(low=low, high=high, mean=total / count, zeros=zeros / count, hidden=1 - count / tensor.numel())


def explain(error: BaseException, file: str) -> TaskRefused:
    """An exception of torch or of the user's code as a refusal with what to do about it."""
    if isinstance(error, TaskRefused):
        return error
    text, words = told(error, file), f"{type(error).__name__} {error}"
    if "GuardOnDataDependent" in words or "data-dependent" in words or "DataDependent" in words:
        return TaskRefused(
            f"{text} (what it does next depends on the data)",
            "use torch.where or a mask; no if, .item() or bool() on tensors",
        )
    if "NVIDIA" in words or "CUDA" in words or "cuda" in words:
        return TaskRefused(
            f"{text} (it needs a GPU to be captured)",
            "make tensors on the default device, without device='cuda' or .cuda()",
        )
    if isinstance(error, MemoryError) or "can't allocate memory" in words or "not enough memory" in words:
        return TaskRefused(f"{text} (it needs too much memory)", "give smaller example inputs")
    if isinstance(error, ImportError):
        return TaskRefused(text, "install what it imports, or put it beside the file", BROKEN)
    if isinstance(error, OSError):
        return TaskRefused(
            f"{text} (no network here; the file's folder is read-only)", "load nothing while it is captured", BROKEN
        )
    if isinstance(error, NeedsRealTensors):
        return TaskRefused(f"{file}: the constant tensor {error} has no values", "register it as a buffer")
    return TaskRefused(text, "the module must run on its example inputs and be traceable by torch.export", BROKEN)
