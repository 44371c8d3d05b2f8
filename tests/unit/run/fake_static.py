"""A CUDA driver in this process's memory, for modules with static memory: loads real cubins, runs kernels known by name.

It stands in for NVIDIA's bindings, never for the laboratory's code. "count" adds one to the module's first writable byte,
"reset" leaves it as it was, "fill" sets it to 9; everything else does nothing.
"""

from __future__ import annotations

import ctypes
import enum
from dataclasses import dataclass, field
from typing import Any

from kernellab.build.cubin import audit, writable


class Status(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_FOUND = 500


OK = Status.CUDA_SUCCESS


@dataclass(eq=False)
class Module:
    cubin: bytes
    parts: list[tuple[Any, Any]]


@dataclass
class Driver:
    """`names`: whether cuModuleGetGlobal finds variables. `said`: launches, loads and unloads, in order."""

    names: bool = True
    said: list[str] = field(default_factory=list)
    _kept: list[Any] = field(default_factory=list)
    _recording: list[Any] | None = None

    CU_MEMHOSTALLOC_DEVICEMAP = 2

    class CUfunction_attribute:
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = "most"
        CU_FUNC_ATTRIBUTE_NUM_REGS = "registers"
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = "local_bytes"
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = "shared_bytes"

    def __getattr__(self, name: str) -> Any:
        """Calls whose effect nothing here depends on."""
        if name.startswith("cu"):
            return lambda *arguments: (OK, 1.0 if name == "cuEventElapsedTime" else name)
        raise AttributeError(name)

    def cuModuleLoadData(self, cubin: bytes) -> tuple[Status, Module]:
        parts = [(part, ctypes.create_string_buffer(part.size)) for part in writable(cubin)]
        self.said.append("load")
        return OK, Module(cubin, parts)

    def cuModuleUnload(self, module: Module) -> tuple[Status]:
        self.said.append("unload")
        return (OK,)

    def cuModuleGetGlobal(self, module: Module, name: bytes) -> tuple[Any, ...]:
        for part, memory in module.parts if self.names else ():
            for variable in part.variables:
                if variable.name == name.decode():
                    return OK, ctypes.addressof(memory) + variable.offset, variable.size
        return Status.CUDA_ERROR_NOT_FOUND, 0, 0

    def cuModuleGetFunction(self, module: Module, symbol: bytes) -> tuple[Status, Any]:
        return OK, (module, symbol.decode())

    def cuFuncGetParamInfo(self, function: Any, index: int) -> tuple[Any, ...]:
        sizes = audit(function[0].cubin).kernels[function[1]].parameters or ()
        return (OK, 0, sizes[index]) if index < len(sizes) else (Status.CUDA_ERROR_INVALID_VALUE, 0, 0)

    def cuFuncGetAttribute(self, kind: str, function: Any) -> tuple[Status, int]:
        return OK, getattr(audit(function[0].cubin).kernels[function[1]], kind)

    def cuMemHostAlloc(self, size: int, flags: int) -> tuple[Status, int]:
        self._kept.append(ctypes.create_string_buffer(size))
        return OK, ctypes.addressof(self._kept[-1])

    def cuMemHostGetDevicePointer(self, address: int, flags: int) -> tuple[Status, int]:
        return OK, address

    def cuMemAlloc(self, size: int) -> tuple[Status, int]:
        self._kept.append(ctypes.create_string_buffer(1))
        return OK, ctypes.addressof(self._kept[-1])

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: Any) -> tuple[Status]:
        ctypes.memmove(to, source, size)
        return (OK,)

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: Any) -> tuple[Status]:
        ctypes.memmove(to, source, size)
        return (OK,)

    def cuStreamBeginCapture(self, stream: Any, mode: int) -> tuple[Status]:
        self._recording = []
        return (OK,)

    def cuStreamEndCapture(self, stream: Any) -> tuple[Status, Any]:
        recorded, self._recording = self._recording, None
        return OK, recorded

    def cuGraphInstantiate(self, graph: Any, flags: int) -> tuple[Status, Any]:
        return OK, graph

    def cuGraphLaunch(self, graph: Any, stream: Any) -> tuple[Status]:
        for function in graph:
            self._run(function)
        return (OK,)

    def cuLaunchKernel(self, function: Any, *rest: Any) -> tuple[Status]:
        if self._recording is not None:
            self._recording.append(function)
        else:
            self._run(function)
        return (OK,)

    def _run(self, function: Any) -> None:
        module, name = function
        self.said.append(name)
        if name in ("count", "fill"):
            memory = module.parts[0][1]
            memory[0] = bytes([memory[0][0] + 1 if name == "count" else 9])
