"""The CUDA driver, as little of it as the laboratory needs, over cuda-bindings. Imported only where a GPU is used.

Every call is checked: a failure is a DriverFault that knows whether the context survives it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernellab.core.errors import EnvironmentFault
from kernellab.tasks.spec import Array

# What leaves a context usable: everything else that a kernel can cause is sticky.
_HARMLESS = {
    "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_INVALID_HANDLE", "CUDA_ERROR_NOT_FOUND", "CUDA_ERROR_INVALID_IMAGE",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_INVALID_SOURCE",
    "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "CUDA_ERROR_NOT_SUPPORTED", "CUDA_ERROR_INVALID_CLUSTER_SIZE",
    "CUDA_ERROR_FUNCTION_NOT_LOADED", "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "CUDA_ERROR_NOT_PERMITTED",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_JIT_COMPILATION_DISABLED",
}  # fmt: skip


class DriverFault(Exception):
    """A driver call failed: which, with what, and whether the context is lost with it."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(f"{name.removeprefix('CUDA_ERROR_').lower().replace('_', ' ')} ({where})")
        self.name = name
        self.sticky = name not in _HARMLESS


def bindings() -> Any:
    """cuda.bindings.driver, or an error that says what to install."""
    try:
        from cuda.bindings import driver
    except ImportError:
        raise EnvironmentFault("the CUDA bindings are not installed", "pip install 'kernellab[cuda]'") from None
    return driver


def call(name: str, *arguments: Any) -> Any:
    """One checked driver call; gives its results without the status (None, the only one, or a tuple)."""
    status, *results = getattr(bindings(), name)(*arguments)
    if int(status) != 0:
        raise DriverFault(getattr(status, "name", str(status)), name)
    return results[0] if len(results) == 1 else tuple(results) or None


@dataclass(frozen=True)
class Properties:
    name: str
    capability: tuple[int, int]
    processors: int
    l2_bytes: int
    memory_bytes: int
    shared_limit: int
    reads_host_memory: bool
    driver: int

    @property
    def target(self) -> str:
        """What to compile for: the architecture's own instructions from Hopper on."""
        major, minor = self.capability
        return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def present() -> bool:
    """Whether there is a GPU to talk to; asks the driver, which a process without one does not have."""
    if not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/nvidia0") and not os.path.exists("/dev/dxg"):
        return False
    try:
        call("cuInit", 0)
        return bool(call("cuDeviceGetCount"))
    except (DriverFault, EnvironmentFault, RuntimeError, OSError):
        return False


class Context:
    """The primary context of one GPU, current in the calling thread."""

    def __init__(self, index: int = 0) -> None:
        call("cuInit", 0)
        self.index = index
        self.device = call("cuDeviceGet", index)
        self.handle = call("cuDevicePrimaryCtxRetain", self.device)
        call("cuCtxSetCurrent", self.handle)
        self.stream = call("cuStreamCreate", 1)  # does not wait for the default stream
        self._granularity = 0

    def properties(self) -> Properties:
        kind = bindings().CUdevice_attribute

        def attribute(name: str) -> int:
            return int(call("cuDeviceGetAttribute", getattr(kind, f"CU_DEVICE_ATTRIBUTE_{name}"), self.device))

        raw = call("cuDeviceGetName", 128, self.device)
        return Properties(
            name=raw.split(b"\0")[0].decode(),
            capability=(attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")),
            processors=attribute("MULTIPROCESSOR_COUNT"),
            l2_bytes=attribute("L2_CACHE_SIZE"),
            memory_bytes=int(call("cuDeviceTotalMem", self.device)),
            shared_limit=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            reads_host_memory=bool(attribute("PAGEABLE_MEMORY_ACCESS")),
            driver=int(call("cuDriverGetVersion")),
        )

    def synchronize(self) -> None:
        call("cuStreamSynchronize", self.stream)

    def allocate(self, nbytes: int) -> int:
        return int(call("cuMemAlloc", max(nbytes, 16)))

    def free(self, address: int) -> None:
        call("cuMemFree", address)

    def shared_word(self) -> tuple[int, int]:
        """Four bytes of the host's memory that the device sees change, 0 at first: their address here, and there."""
        here = int(call("cuMemHostAlloc", 4, bindings().CU_MEMHOSTALLOC_DEVICEMAP))
        ctypes.memset(here, 0, 4)
        return here, int(call("cuMemHostGetDevicePointer", here, 0))

    def upload(self, address: int, values: Array) -> None:
        """From host memory, complete on return."""
        flat = np.ascontiguousarray(values)
        call("cuMemcpyHtoDAsync", address, flat.ctypes.data, flat.nbytes, self.stream)
        self.synchronize()

    def download(self, address: int, shape: tuple[int, ...], dtype: Any) -> Array:
        values = np.empty(shape, dtype)
        call("cuMemcpyDtoHAsync", values.ctypes.data, address, values.nbytes, self.stream)
        self.synchronize()
        return values

    def copy(self, target: int, source: int, nbytes: int) -> None:
        call("cuMemcpyDtoDAsync", target, source, nbytes, self.stream)

    def fill(self, address: int, pattern: int, width: int, count: int) -> None:
        """`count` elements of `width` (1, 2 or 4) bytes."""
        call({1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}[width],
             address, pattern, count, self.stream)  # fmt: skip

    # Memory that another process can map: the laboratory owns it, runners and baselines see it.

    def granularity(self) -> int:
        if not self._granularity:
            kind = bindings().CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
            self._granularity = int(call("cuMemGetAllocationGranularity", self._shareable(), kind))
        return self._granularity

    def create(self, nbytes: int) -> tuple[Any, int]:
        """A shareable allocation and its size, rounded up to what the driver hands out."""
        unit = self.granularity()
        size = -(-max(nbytes, 1) // unit) * unit
        return call("cuMemCreate", size, self._shareable(), 0), size

    def export(self, handle: Any) -> int:
        """A descriptor on an allocation, to be passed to another process; the caller closes it."""
        kind = bindings().CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        return int(call("cuMemExportToShareableHandle", handle, kind, 0))

    def adopt(self, fd: int) -> Any:
        """The allocation behind another process's descriptor."""
        kind = bindings().CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        return call("cuMemImportFromShareableHandle", fd, kind)

    def map(self, handle: Any, size: int, writable: bool = True) -> int:
        """Map an allocation between two stretches of addresses at which nothing lies; returns where."""
        unit = self.granularity()
        hole = int(call("cuMemAddressReserve", size + 2 * unit, unit, 0, 0))
        address = hole + unit
        call("cuMemMap", address, size, 0, handle, 0)
        cuda = bindings()
        access = cuda.CUmemAccessDesc()
        access.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = self.index
        allowed = cuda.CUmemAccess_flags
        access.flags = allowed.CU_MEM_ACCESS_FLAGS_PROT_READWRITE if writable else allowed.CU_MEM_ACCESS_FLAGS_PROT_READ
        call("cuMemSetAccess", address, size, [access], 1)
        return address

    def unmap(self, address: int, size: int, handle: Any) -> None:
        unit = self.granularity()
        call("cuMemUnmap", address, size)
        call("cuMemAddressFree", address - unit, size + 2 * unit)
        call("cuMemRelease", handle)

    def _shareable(self) -> Any:
        cuda = bindings()
        wanted = cuda.CUmemAllocationProp()
        wanted.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wanted.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        wanted.location.id = self.index
        wanted.requestedHandleTypes = cuda.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        return wanted


class Kernel:
    """A function of a loaded module, its parameters packed by their own sizes."""

    def __init__(self, module: Any, symbol: str) -> None:
        self.module = module
        self._symbol = symbol
        self.function = call("cuModuleGetFunction", module, symbol.encode())
        self.sizes = self._sizes()
        self._shared = 0

    def move(self, module: Any) -> None:
        """The same function of the same code, loaded once more."""
        self.module = module
        self.function = call("cuModuleGetFunction", module, self._symbol.encode())
        shared, self._shared = self._shared, 0
        self.allow_shared(shared)

    @cached_property
    def local_bytes(self) -> int:
        """Local memory of a thread."""
        return self.resources()["local_bytes"]

    def pack(self, values: Sequence[int | float]) -> tuple[Any, list[Any]]:
        """The parameter block for a launch, and what must stay alive with it. Raises ValueError on a misfit."""
        if len(values) != len(self.sizes):
            raise ValueError(f"takes {len(self.sizes)} parameters, the plan gives {len(values)}")
        cells = [_cell(value, size) for value, size in zip(values, self.sizes, strict=True)]
        block = (ctypes.c_void_p * max(1, len(cells)))(*(ctypes.addressof(c) for c in cells))
        return block, cells

    def allow_shared(self, nbytes: int) -> None:
        """Dynamic and static shared memory above 48 KB together have to be asked for; the most any launch wants counts."""
        if nbytes > self._shared:
            self._shared = nbytes
            kind = bindings().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", self.function, kind, nbytes)

    def resources(self) -> dict[str, int]:
        kind = bindings().CUfunction_attribute
        names = {"registers": "NUM_REGS", "local_bytes": "LOCAL_SIZE_BYTES", "static_shared": "SHARED_SIZE_BYTES"}
        return {
            k: int(call("cuFuncGetAttribute", getattr(kind, f"CU_FUNC_ATTRIBUTE_{v}"), self.function))
            for k, v in names.items()
        }

    def _sizes(self) -> list[int]:
        sizes: list[int] = []
        while True:
            try:
                sizes.append(int(call("cuFuncGetParamInfo", self.function, len(sizes))[1]))
            except DriverFault as fault:
                if fault.sticky:
                    raise
                return sizes


def _cell(value: int | float, size: int) -> Any:
    if isinstance(value, float):
        if size not in (4, 8):
            raise ValueError(f"a float is given for a parameter of {size} bytes")
        return ctypes.c_float(value) if size == 4 else ctypes.c_double(value)
    kind = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}.get(size)
    if kind is None:
        raise ValueError(f"an integer is given for a parameter of {size} bytes")
    low, high = -(1 << (8 * size - 1)), 1 << (8 * size)
    if not low <= value < high:
        raise ValueError(f"{value} does not fit a parameter of {size} bytes")
    return kind(value & ((1 << (8 * size)) - 1))


def launch(
    kernel: Kernel, grid: Sequence[int], block: Sequence[int], parameters: Any, stream: Any,
    shared: int = 0, cluster: Sequence[int] | None = None, cooperative: bool = False,
) -> None:  # fmt: skip
    """Launch with packed parameters (their address). Extents are padded to three."""
    gx, gy, gz = (*grid, 1, 1)[:3]
    bx, by, bz = (*block, 1, 1)[:3]
    where = ctypes.addressof(parameters)
    if cluster is None and not cooperative:
        call("cuLaunchKernel", kernel.function, gx, gy, gz, bx, by, bz, shared, stream, where, 0)
        return
    cuda = bindings()
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = gx, gy, gz
    config.blockDimX, config.blockDimY, config.blockDimZ = bx, by, bz
    config.sharedMemBytes, config.hStream = shared, stream
    attributes = []
    if cluster is not None:
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = (*cluster, 1, 1)[:3]
        attributes.append(attribute)
    if cooperative:
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        attributes.append(attribute)
    config.attrs, config.numAttrs = attributes, len(attributes)
    call("cuLaunchKernelEx", config, kernel.function, where, 0)
