"""A GPU baseline's process: torch on the laboratory's own buffers, clocked as a candidate is. Trusted, not confined.

`torch` code is run in the ways a user has: eager, captured in a CUDA graph, compiled, compiled with max-autotune; other
baselines as they are, those with knobs at every setting in turn. Import, compilation and warm-up happen before the first
timed call.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kernellab.run.cuda_clock import Clock
from kernellab.run.cuda_kernels import Kernels
from kernellab.run.cuda_process import serve
from kernellab.run.cuda_serve import contents
from kernellab.run.driver import Context, DriverFault, bindings
from kernellab.tasks.load import load_located
from kernellab.tasks.tunable import Tunable, variants

_WARM_UPS = 3
WAYS = {"max-autotune": "max-autotune", "max-autotune-no-cudagraphs": "max-autotune-no-cudagraphs", "compile": "default",
        "eager": "", "graph": ""}  # fmt: skip
"""Those that take longest to start come first: not all may have room at a time, and they are waited for together."""


class _Pointer:
    """A stretch of device memory that torch can adopt."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip


class Server:
    def __init__(self, setup: dict[str, Any], cubin: bytes, arenas: list[int]) -> None:
        import torch

        self._torch = torch
        torch.set_grad_enabled(False)
        torch.cuda.set_device(setup["index"])
        torch.zeros(1, device="cuda")  # torch makes the primary context; the driver's handle below is the same one
        self._context = Context(setup["index"])
        self._stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        torch.cuda.set_stream(self._stream)
        stream = bindings().CUstream(self._stream.cuda_stream)
        self._clock = Clock(self._context, Kernels(cubin), setup["l2_bytes"], stream)
        where = [
            self._context.map(self._context.adopt(fd), size) for fd, size in zip(arenas, setup["sizes"], strict=True)
        ]
        sys.path[:] = [*setup["path"], *sys.path]
        self._function = load_located(setup["task"]).gpu_baselines[setup["function"]]
        self._variants = variants({setup["function"]: self._function})
        self._way = setup["way"]
        self._calls = [
            [self._tensor(where[a] + at, shape, dtype) for a, at, shape, dtype in call] for call in setup["calls"]
        ]
        self._inputs = setup["inputs"]
        self._ready: dict[tuple[int, str], Callable[[], Any]] = {}
        self._compiled = self._compile()
        self._warm_up(setup["variants"])
        self._context.synchronize()

    def answer(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        variant: str = request["variant"]
        if request["do"] == "prepare":
            for number in request["calls"]:
                self._prepare(number, variant)
            self._torch.cuda.synchronize()
            return {}
        ready = [self._ready[number, variant] for number in request["calls"]]
        results: list[Any] = []

        def queue() -> None:
            results.extend(action() for action in ready)

        seconds = self._clock.time(queue)
        # torch's own CUDA graphs write every result to the same place: only the last one is still there
        kept = 1 if self._way == "max-autotune" else len(results)
        for number, result in list(zip(request["calls"], results, strict=True))[-kept:]:
            outputs = self._calls[number][self._inputs :]
            for output, value in zip(outputs, result if isinstance(result, tuple) else (result,), strict=True):
                output.copy_(value.reshape(output.shape))
        self._torch.cuda.synchronize()
        return {"seconds": seconds, "held": self._clock.held_s}

    def _compile(self) -> Callable[..., Any]:
        if not WAYS.get(self._way):
            return self._function
        import torch._dynamo

        torch._dynamo.config.cache_size_limit = 64
        straight = getattr(self._function, "straight", None)
        function = straight(*self._calls[0][: self._inputs]) if straight else self._function
        return self._torch.compile(function, mode=WAYS[self._way], dynamic=False, fullgraph=True)

    def _warm_up(self, names: list[str]) -> None:
        """The first call of every variant. A setting of knobs that fails is told when it is asked for, and takes no other
        with it; what cannot be set otherwise fails at once."""
        for name in names:
            try:
                self._prepare(0, name)
            except Exception as err:
                if isinstance(err, DriverFault) or not isinstance(self._function, Tunable):
                    raise

    def _prepare(self, number: int, variant: str) -> None:
        """Warm one call up, and capture it where that is the way."""
        if (number, variant) in self._ready:
            return
        inputs = self._calls[number][: self._inputs]
        action = self._variants[variant].function if isinstance(self._function, Tunable) else self._compiled
        for _ in range(_WARM_UPS):
            action(*inputs)
        self._torch.cuda.synchronize()
        if self._way != "graph":
            self._ready[number, variant] = lambda: action(*inputs)
            return
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph, stream=self._stream):
            result = self._function(*inputs)

        def replay() -> Any:
            graph.replay()
            return result

        self._ready[number, variant] = replay

    def _tensor(self, address: int, shape: list[int], dtype: str) -> Any:
        torch = self._torch
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return torch.as_tensor(_Pointer(address, nbytes), device="cuda").view(getattr(torch, dtype)).view(shape)


def fault_of(err: Exception) -> dict[str, Any]:
    text = (str(err).strip().splitlines() or [type(err).__name__])[0]
    return {"fault": "crash", "reason": f"{type(err).__name__}: {text[:300]}", "lost": isinstance(err, DriverFault)}


def main(fds: list[int]) -> int:
    """Entry: the control socket, the set-up, the laboratory's own kernels, the memory of inputs and outputs."""
    control = socket.socket(fileno=fds[0])
    setup = json.loads(contents(fds[1]))
    os.environ.update(setup["environment"])
    try:
        server = Server(setup, contents(fds[2]), fds[3:5])
    except Exception as err:  # noqa: BLE001  torch's own errors are many; each is a reason
        control.send(json.dumps(fault_of(err)).encode())
        return 1
    control.send(json.dumps({"ready": os.getpid()}).encode())
    return serve(control, server.answer, fault_of)
