"""The other side of a conversation (run/cuda_process.py), for its tests: job entries that run outside the sandbox."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

from kernellab.run.cuda_process import serve
from kernellab.run.cuda_serve import contents, fault_of
from kernellab.run.driver import DriverFault


class Talker:
    """Answers what it is asked; `fds` came with the process, `received` with a request."""

    def __init__(self, control: socket.socket, fds: list[int]) -> None:
        self._control = control
        self._fds = fds

    def answer(self, request: dict[str, Any], received: list[int]) -> dict[str, Any]:
        reply: dict[str, Any] = getattr(self, request.pop("do"))(received, **request)
        return reply

    def echo(self, received: list[int], text: str) -> dict[str, Any]:
        return {"text": text, "pid": os.getpid()}

    def read(self, received: list[int]) -> dict[str, Any]:
        return {
            "given": [contents(fd).decode() for fd in self._fds],
            "sent": [contents(fd).decode() for fd in received],
        }

    def descriptors(self, received: list[int]) -> dict[str, Any]:
        return {"open": len(os.listdir("/proc/self/fd"))}

    def misfit(self, received: list[int]) -> dict[str, Any]:
        raise ValueError("k takes 3 parameters, the plan gives 2")

    def driver(self, received: list[int], error: str) -> dict[str, Any]:
        raise DriverFault(error, "cuStreamSynchronize")

    def unknown(self, received: list[int]) -> dict[str, Any]:
        raise RuntimeError("nobody thought of this")

    def sleep(self, received: list[int], seconds: float) -> dict[str, Any]:
        time.sleep(seconds)
        return {}

    def leave(self, received: list[int]) -> dict[str, Any]:
        print("these are its last words")
        os._exit(3)

    def send(self, received: list[int], raw: str) -> dict[str, Any]:
        self._control.send(raw.encode())
        return {}


def talks(fds: list[int]) -> int:
    control = socket.socket(fileno=fds[0])
    control.send(json.dumps({"ready": os.getpid()}).encode())
    return serve(control, Talker(control, fds[1:]).answer, fault_of)


def declines(fds: list[int]) -> int:
    """Says why it cannot start."""
    socket.socket(fileno=fds[0]).send(json.dumps({"reason": "no device (cuInit)"}).encode())
    return 1


def breaks(fds: list[int]) -> int:
    raise OSError("libcuda.so.1 is not here")


def never_comes(fds: list[int]) -> int:
    time.sleep(60)
    return 0
