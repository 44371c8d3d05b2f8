"""The process of somebody else's ModelNew: our buffers, their Python. Forked with torch imported; it serves a few calls.

Nothing that runs here after the solution's first line is believed: it may patch, read and forge whatever it finds. All it
can gain is the bytes of its outputs, and those are judged elsewhere, under a clock that is elsewhere too.
Covered: it maps the buffers of its own calls and no others, inputs so that no write succeeds; its descriptors are gone but
for the channel; no network, no fork, no thread unless threads are measured, no file to write (sandbox, profile "run").
Not covered: what the solution may read beside the toolchain: its own folder and the problem's.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.core.ids import canonical_json
from kernellab.graph.any_device import any_device
from kernellab.graph.need_torch import need_torch
from kernellab.graph.source import SOLUTION, Request, choose, import_file, make, make_module, told
from kernellab.run.host_caches import use_built
from kernellab.run.mapped import READ, WRITE, Mapped, map_region, touch
from kernellab.run.nest import FAILED, LOADED
from kernellab.run.serve import serve
from kernellab.sandbox import limits

_MOST_SAID = 2000


def main(fds: list[int]) -> int:
    """Entry: set-up, channel, inputs (read-only), outputs, and what a build left, which lies in the folder by now."""
    setup_fd, channel, inputs, outputs = fds[:4]
    setup: dict[str, Any] = json.loads(os.pread(setup_fd, os.fstat(setup_fd).st_size, 0))
    need_torch().set_num_threads(setup["threads"])
    need_torch().set_grad_enabled(False)
    if setup["built"]:
        use_built(setup["text"])
    buffers = {
        int(number): [[_mapped(inputs, READ, one) for one in call["inputs"]],
                      [_mapped(outputs, WRITE, one) for one in call["outputs"]]]
        for number, call in setup["calls"].items()
    }  # fmt: skip
    os.closerange(3, channel)
    limits.close_descriptors(channel + 1)
    try:
        model, state = made(setup)
        calls = {n: [(call, (model, *bound(setup, state, *both)))] for n, both in buffers.items()}
    except (Exception, SystemExit) as err:  # noqa: BLE001  their code: whatever it raises is told
        os.write(channel, FAILED + words(err, setup).encode(errors="replace")[:_MOST_SAID])
        return 0
    os.write(channel, LOADED)
    serve(channel, channel, calls)
    return 0


def arguments(fds: list[int]) -> int:
    """Another entry: request, reply. What forward() gets: null for a tensor, else the value. Runs the problem alone."""
    request_fd, reply_fd = fds
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.getcwd()  # torch makes it on the way to a random integer on "meta"
    request = Request(**json.loads(os.pread(request_fd, os.fstat(request_fd).st_size, 0)))
    module = import_file(request.file, request.text)
    with any_device("meta"):
        given = make(module, choose(module, request.name), request).inputs
    tensor = need_torch().Tensor
    os.write(reply_fd, canonical_json({"arguments": [None if isinstance(g, tensor) else {"value": g} for g in given]}))
    return 0


def _mapped(fd: int, protection: int, one: dict[str, Any]) -> tuple[Any, Mapped]:
    """A tensor over a buffer of ours. What an earlier process left in an output is wiped out, if that is wanted."""
    torch = need_torch()
    buffer = map_region(fd, protection if protection == READ else READ | WRITE, *one["wire"])
    if one["scrub"]:
        touch(buffer)
    memory = (ctypes.c_char * buffer.nbytes).from_address(buffer.data)
    return torch.frombuffer(memory, dtype=getattr(torch, one["dtype"])).reshape(one["shape"]), buffer


def made(setup: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The solution's module, made as the problem makes its own, and its parameters and buffers by name."""
    request = Request(**setup["request"])
    problem = import_file(request.file, request.text) if request.text is not None else None
    solution = import_file(setup["file"], setup["text"])
    chosen = choose(solution, SOLUTION)
    home: ModuleType = solution if problem is None else problem
    model = make_module(home, chosen, request)
    state = {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }
    return model, state


def bound(setup: dict[str, Any], state: dict[str, Any], inputs: list[Any], outputs: list[Any]) -> tuple[Any, Any, Any]:
    """Where each weight goes, the arguments of forward() in their order, and the outputs."""
    weights, given = [], []
    for place, (tensor, _) in zip(setup["places"], inputs, strict=True):
        if place:
            weights.append((_place(state, place, tensor), tensor))
        else:
            given.append(tensor)
    tensors = iter(given)
    ordered = [next(tensors) if one is None else one["value"] for one in setup["arguments"]]
    return weights, ordered, [tensor for tensor, _ in outputs]


def _place(state: dict[str, Any], place: str, given: Any) -> Any:
    held = state.get(place)
    if held is None:
        has = ", ".join(state) or "none"
        raise TaskRefused(
            f"{SOLUTION} has no parameter or buffer '{place}' (it has {has})",
            "name its state as the problem's Model does: the laboratory sets it before every call",
        )
    if held.shape != given.shape or held.dtype != given.dtype:
        wanted, found = (f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in (given, held))
        raise TaskRefused(f"{SOLUTION}'s '{place}' is {found}, the problem's is {wanted}", "keep shape and dtype")
    return held


def call(model: Any, weights: Any, given: Any, outputs: Any) -> None:
    """One call: weights first, then forward(), then its results into our buffers."""
    for held, tensor in weights:
        held.data = tensor
    results = list(_flat(model(*given)))
    if len(results) != len(outputs):
        raise RuntimeError(f"{SOLUTION} gave {len(results)} outputs, the problem has {len(outputs)}")
    for number, (found, out) in enumerate(zip(results, outputs, strict=True)):
        _check(number, found, out)
        out.copy_(found.detach() if found.requires_grad else found)  # gradients may be on again: that is theirs to say


def _flat(result: Any) -> Iterator[Any]:
    if isinstance(result, list | tuple):
        for one in result:
            yield from _flat(one)
    elif isinstance(result, dict):
        yield from _flat(list(result.values()))
    else:
        yield result


def _check(number: int, found: Any, out: Any) -> None:
    """A tensor of torch's own type, dense, on the processor: what a subclass does when it is read is not computed yet."""
    torch = need_torch()
    if type(found) is not torch.Tensor:
        raise RuntimeError(f"output {number} is a {type(found).__name__}, not a plain torch.Tensor")
    if found.layout is not torch.strided or found.device.type != "cpu":
        raise RuntimeError(f"output {number} is {found.layout} on {found.device}: a dense tensor on the cpu is wanted")
    if found.shape != out.shape or found.dtype != out.dtype:
        raise RuntimeError(
            f"output {number} is {found.dtype}{list(found.shape)}, the problem's is {out.dtype}{list(out.shape)}"
        )


def words(err: BaseException, setup: dict[str, Any]) -> str:
    return f"{err.what}; {err.fix}" if isinstance(err, TaskRefused) else told(err, setup["file"])


def warm() -> None:
    """Make a few small calls: what torch sets up on its first use is then there for every fork.

    None that has machine code written for it: the library that does so would keep a file open under a number that is the
    channel's in a fork.
    """
    torch = need_torch()
    torch.set_num_threads(1)
    with torch.no_grad():
        x = torch.ones(8, 8)
        torch.nn.functional.layer_norm(x.relu().softmax(1), (8,)).sum().item()


logging.disable(logging.WARNING)
os.environ["ONEDNN_JIT_PROFILE"] = "0"  # no list of what was written, in files of its own
warm()
