"""The witness process: the user's own module, run in float64 on inputs and weights that the laboratory drew.

Covered: it runs in the sandbox like a capture (no network, limits, a log of its own); what leaves it are arrays, read
without pickle and compared with the graph's own results.
Not covered: the file is the user's own code; outputs made by hand would vouch for a graph that is not the module's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.core.ids import canonical_json
from kernellab.graph.any_device import any_device
from kernellab.graph.arrays import read_arrays, write_arrays
from kernellab.graph.backward import gradients
from kernellab.graph.export import explain
from kernellab.graph.need_torch import need_torch
from kernellab.graph.source import Request, Subject, choose, example_inputs, import_file, make_module
from kernellab.graph.wide import in_float64


def main(fds: list[int]) -> int:
    """Entry: request, given arrays, answer in words, results."""
    request_fd, given_fd, answer_fd, result_fd = fds
    asked = json.loads(os.pread(request_fd, os.fstat(request_fd).st_size, 0))
    request = Request(**asked["request"])
    places = asked["places"]
    arrays = read_arrays(given_fd, len(places))
    try:
        results = run(request, places, arrays)
        answer: dict[str, Any] = {"results": len(results)}
        write_arrays(result_fd, results)
    except (Exception, SystemExit) as err:  # noqa: BLE001  the user's file: whatever it raises is an answer
        refused = err if isinstance(err, TaskRefused) else explain(err, request.file)
        answer = {"refused": refused.what}
    os.write(answer_fd, canonical_json(answer))
    return 0


def run(request: Request, places: list[str], arrays: list[Any]) -> list[Any]:
    """`places` says where each array goes: the path of a weight or buffer in the module, or nothing for an input."""
    torch = need_torch()
    torch.set_num_threads(1)
    module = import_file(request.file, request.text)
    with any_device("cpu"), torch.no_grad():
        subject = Subject(make_module(module, choose(module, request.name), request), _places(module, request))
        return gradients_of(subject, places, arrays) if request.backward else results_of(subject, places, arrays)


def results_of(subject: Subject, places: list[str], arrays: list[Any]) -> list[Any]:
    """What the module itself gives in float64, as its export orders it. It keeps weights and type that it is given here."""
    torch = need_torch()
    with in_float64():
        result = _filled(subject, places, [torch.from_numpy(a) for a in arrays])
    return [_plain(torch, t) for t in torch.utils._pytree.tree_leaves(result)]


def gradients_of(subject: Subject, places: list[str], arrays: list[Any]) -> list[Any]:
    """What torch's autograd gives in float64. The gradients that come in are the last of the arrays."""
    torch = need_torch()
    given = [torch.from_numpy(a) for a in arrays]
    network, tensors = _with_weights(subject, places, given)
    inputs = [next(tensors) if isinstance(x, torch.Tensor) else x for x in subject.inputs]
    with torch.enable_grad():
        return [_plain(torch, g) for g in gradients(Subject(network, tuple(inputs)), wide=True)(inputs, list(tensors))]


def _places(module: ModuleType, request: Request) -> tuple[Any, ...]:
    """The example's inputs, of which only the numbers are used: tensors without contents, where that is possible."""
    try:
        with any_device("meta"):
            return example_inputs(module, request)
    except Exception:  # noqa: BLE001  the user's code looks at what it draws: then it is drawn
        return example_inputs(module, request)


def _filled(subject: Subject, places: list[str], given: list[Any]) -> Any:
    torch = need_torch()
    network, tensors = _with_weights(subject, places, given)
    inputs = [next(tensors) if isinstance(x, torch.Tensor) else x for x in subject.inputs]
    return network(*inputs)


def _with_weights(subject: Subject, places: list[str], given: list[Any]) -> tuple[Any, Iterator[Any]]:
    """The module in float64 with the weights it is given, and what else is given, in order."""
    network = subject.module.double()
    held = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    for place, tensor in zip(places, given, strict=True):
        if place:
            held[place].data = tensor.to(held[place].dtype).reshape(tensor.shape)
    return network, iter([t for place, t in zip(places, given, strict=True) if not place])


def _plain(torch: Any, tensor: Any) -> Any:
    value = tensor.detach()
    wide = value.double() if value.is_floating_point() else value
    return wide.contiguous().numpy()
