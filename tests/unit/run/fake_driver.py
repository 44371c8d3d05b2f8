"""A CUDA driver in host memory, for the child processes of these tests: written into a folder that comes first on the path.

It stands in for NVIDIA's bindings, never for the laboratory's code. Kernels are known by their symbols; what was asked
of the driver is written, one line a call, to the file named by FAKE_DRIVER_LOG.
"""

from __future__ import annotations

from pathlib import Path

DRIVER = """
import ctypes, enum, os
class S(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
OK = S.CUDA_SUCCESS
memory, broken = {}, []
def log(*words):
    with open(os.environ["FAKE_DRIVER_LOG"], "a") as file:
        file.write(" ".join(map(str, words)) + "\\n")
class CUfunction_attribute:
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
def cuInit(flags): return (OK,)
def cuDeviceGet(index): return OK, index
def cuDevicePrimaryCtxRetain(device): return OK, "context"
def cuCtxSetCurrent(context): return (OK,)
def cuStreamCreate(flags): return OK, "stream"
def cuModuleLoadData(data): log("load", data.decode()); return OK, data.decode()
def cuModuleUnload(module): log("unload", module); return (OK,)
def cuModuleGetFunction(module, symbol): return OK, symbol.decode()
def cuFuncGetParamInfo(function, index):
    return (OK, 8 * index, [8, 8, 4][index]) if index < 3 else (S.CUDA_ERROR_INVALID_VALUE, 0, 0)
def cuFuncSetAttribute(function, kind, value): log("attribute", function, value); return (OK,)
def cuMemAlloc(size):
    block = ctypes.create_string_buffer(b"\\xee" * size, size)
    memory[ctypes.addressof(block)] = block
    log("alloc", size)
    return OK, ctypes.addressof(block)
def cuMemFree(address): log("free", len(memory.pop(address))); return (OK,)
def cuMemcpyHtoDAsync(to, source, size, stream): ctypes.memmove(to, source, size); log("upload", size); return (OK,)
def cuMemcpyDtoHAsync(to, source, size, stream): ctypes.memmove(to, source, size); log("download", size); return (OK,)
def cuMemsetD8Async(address, value, count, stream): ctypes.memset(address, value, count); log("zero", count); return (OK,)
def cuStreamSynchronize(stream): return (S.CUDA_ERROR_ILLEGAL_ADDRESS if broken else OK,)
def cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
    log("launch", function, gx, bx, shared)
    cells = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
    source, target = (ctypes.cast(cells[i], ctypes.POINTER(ctypes.c_uint64))[0] for i in (0, 1))
    n = ctypes.cast(cells[2], ctypes.POINTER(ctypes.c_uint32))[0]
    if function == "stray":
        broken.append(function)
        return (OK,)
    x, y = ((ctypes.c_float * n).from_address(a) for a in (source, target))
    for i in range(n):
        y[i] = y[i] + x[i] if function == "add" else 2 * x[i]
    return (OK,)
"""


def install(folder: Path) -> Path:
    """The folder to put on PYTHONPATH."""
    package = folder / "cuda" / "bindings"
    package.mkdir(parents=True)
    (folder / "cuda" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "driver.py").write_text(DRIVER)
    return folder
