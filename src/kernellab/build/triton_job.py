"""Runs a Triton candidate on stand-ins, compiles what it launches and writes the launches down. Build sandbox only.

Triton itself does the work: its JIT specialises, compiles and evaluates grids as on a GPU. Only the driver below it is
ours: it answers with the target asked for, "loads" machine code by remembering it, and launches by recording.
What is used of Triton's internals is pinned by tests/unit/build/test_triton_contract.py.

Covered: no GPU, no driver library and no torch are needed. Nothing that leaves is trusted: a candidate that takes this
process over (or overwrites the machine code) changes only data, which build/triton.py checks.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kernellab import candidate
from kernellab.build import recorder
from kernellab.build.bundle import Bundle, pack
from kernellab.build.recorder import Failed, Invalid, Recording, StandIn

_ALIGNED = 1 << 20  # stand-ins are as well aligned as the runner's buffers
_LOG_KEPT, _PTX_KEPT = 16 << 10, 1 << 20
_ENTRY = re.compile(r"\.entry\s+[\w$]+\s*\(([^)]*)\)")
_ERROR = re.compile(r"\b(error|fatal)\s*:")
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")


class TritonStandIn(StandIn):
    """A buffer that Triton takes for a tensor, with the questions that tensors are usually asked."""

    def data_ptr(self) -> int:
        return _ALIGNED

    def stride(self, axis: int | None = None) -> Any:
        return self.strides if axis is None else self.strides[axis]

    def numel(self) -> int:
        return self.size

    def dim(self) -> int:
        return self.ndim

    def element_size(self) -> int:
        return self.itemsize

    def is_contiguous(self) -> bool:
        return True


@dataclass(frozen=True)
class Machine:
    """What a "loaded" kernel is: its symbol and its machine code."""

    symbol: str
    cubin: bytes

    @property
    def key(self) -> str:
        """Equal machine code has an equal name, so that it makes an equal plan."""
        return f"{_NOT_A_NAME.sub('_', self.symbol)[:96]}_{hashlib.sha256(self.cubin).hexdigest()[:12]}"


class Utils:
    """The part of Triton's driver that loads modules and knows the device."""

    def __init__(self, properties: dict[str, int]) -> None:
        self._properties = properties

    def get_device_properties(self, _device: int) -> dict[str, int]:
        return self._properties

    def load_binary(self, name: str, cubin: bytes, _shared: int, _device: int) -> tuple[Any, ...]:
        """Module, function, registers, spills, most threads; Triton hands the function on to the launcher."""
        return None, Machine(name, cubin), 0, 0, 1024  # no module: nothing to unload


class Driver:
    """Stands where Triton has its CUDA driver."""

    def __init__(self, arch: int, properties: dict[str, int]) -> None:
        self._target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", arch, 32)
        self.utils = Utils(properties)
        self.recording = Recording(TritonStandIn)
        self.machines: dict[str, tuple[Machine, str]] = {}
        self.launcher_cls: Callable[[Any, Any], Launcher] = lambda src, metadata: Launcher(self, src, metadata)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int = 0) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self._target


class Launcher:
    """One compiled kernel; calling it is a launch."""

    def __init__(self, driver: Driver, src: Any, metadata: Any) -> None:
        self._driver, self._metadata = driver, metadata
        self._types = list(src.signature.values())
        group = importlib.import_module("triton.runtime.cache").get_cache_manager(metadata.hash)
        with open(group.get_file(f"{src.name[:150]}.ptx")) as file:
            self._ptx = file.read()
        entry = _ENTRY.search(self._ptx)
        self._parameters = entry[1].count(".param") if entry else -1

    def __call__(self, x: Any, y: Any, z: Any, _stream: int, machine: Machine, *rest: Any) -> None:
        """`rest`: Triton's packed metadata, launch metadata and two hooks, then the kernel's arguments."""
        grid = [int(x), int(y), int(z)]
        if math.prod(grid) == 0:
            return  # as Triton's own launcher does
        meta = self._metadata
        if meta.launch_pdl:
            raise Failed("launch_pdl=True is not recorded: plans have no programmatic dependent launches")
        if len(self._types) != len(rest) - 4:
            raise Failed(f"{machine.symbol}: Triton passed {len(rest) - 4} arguments for {len(self._types)} types")
        step: dict[str, Any] = {"kernel": machine.key, "grid": grid, "block": [32 * int(meta.num_warps), 1, 1]}
        if meta.num_ctas > 1:
            step["cluster"] = [int(c) for c in getattr(meta, "cluster_dims", None) or (meta.num_ctas, 1, 1)]
            step["grid"] = [g * c for g, c in zip(grid, step["cluster"], strict=True)]
        step["shared"] = int(meta.shared)
        step["cooperative"] = bool(meta.launch_cooperative_grid)
        arguments = list(_arguments(self._types, rest[4:]))
        step["args"] = arguments + self._hidden(len(arguments), math.prod(step["grid"]), machine.symbol)
        self._driver.machines[machine.key] = machine, self._ptx
        self._driver.recording.steps.append(step)

    def _hidden(self, given: int, programs: int, symbol: str) -> list[dict[str, Any]]:
        """The pointers that Triton appends: global scratch, and since 3.5 profiling scratch."""
        sizes = [int(getattr(self._metadata, f"{kind}_scratch_size", None) or 0) for kind in ("global", "profile")]
        count = self._parameters - given
        if not 0 <= count <= 2 or any(sizes[count:]):
            raise Failed(
                f"{symbol} has {self._parameters} parameters for {given} arguments: Triton's launch has changed"
            )
        return [
            self._driver.recording.scratch((size * programs,), "uint8")._reference if size else _NULL
            for size in sizes[:count]
        ]


_NULL = {"kind": "int", "value": 0}


def _arguments(types: Any, values: Any) -> Iterator[dict[str, Any]]:
    """The run-time arguments in the order of the kernel's parameters: constants have none, tuples have several."""
    for kind, value in zip(types, values, strict=True):
        if isinstance(kind, (tuple, list)):
            yield from _arguments(kind, value)
        elif kind != "constexpr":
            yield _argument(str(kind), value)


def _argument(kind: str, value: Any) -> dict[str, Any]:
    if kind.startswith("tensordesc") or kind == "nvTmaDesc":
        raise Failed(_HOST_DESCRIPTOR)
    if kind.startswith("*"):
        if not isinstance(value, StandIn):
            raise Failed(f"a pointer argument must be a buffer or scratch(), not {type(value).__name__}")
        return value._reference
    if kind in ("fp32", "f32", "fp64"):
        if not math.isfinite(value):
            raise Failed(f"{value} is passed to a kernel as a number: write it as a constant in the kernel")
        return {"kind": "float", "value": float(value)}
    if kind[0] in "iu" and kind[1:].isdigit():
        number = int(value)
        return {"kind": "int", "value": number - (1 << 64) if number >= 1 << 63 else number}
    raise Failed(f"an argument of type {kind} cannot be recorded: pass an int or a float")


_HOST_DESCRIPTOR = (
    "a tensor descriptor made on the host cannot be recorded: make it in the kernel with tl.make_tensor_descriptor"
)


def _refuse(reason: str) -> Callable[..., None]:
    def refuse(*_args: Any, **_options: Any) -> None:
        raise Failed(reason)

    return refuse


def install(arch: int, properties: dict[str, int]) -> Driver:
    """Put our driver under Triton, and take away what a plan cannot hold."""
    driver = Driver(arch, properties)
    importlib.import_module("triton.runtime").driver.set_active(driver)
    autotuner = importlib.import_module("triton.runtime.autotuner").Autotuner
    autotuner.__init__ = _refuse("@triton.autotune times kernels, which the builder cannot: use SPACE instead")
    descriptor = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    descriptor.__init__ = _refuse(_HOST_DESCRIPTOR)
    return driver


def recorder_of(driver: Driver, text: str) -> Callable[..., dict[str, Any]]:
    """One plan: launch() on the stand-ins of one shape, as recorder.record_with wants it."""
    errors = importlib.import_module("triton.compiler.errors")
    limits = importlib.import_module("triton.runtime.errors")

    def record_one(launch: Callable[..., Any], buffers: list[dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
        driver.recording = recording = Recording(TritonStandIn)
        candidate.bind(_refuse("kernel(name) is for CUDA C++: launch Triton kernels with kern[grid](...)"),
                       recording.scratch)  # fmt: skip
        stand_ins = [
            TritonStandIn({"kind": "buffer", "index": i}, tuple(b["shape"]), b["dtype"]) for i, b in enumerate(buffers)
        ]
        try:
            launch(*stand_ins, **params)
        except errors.CompilationError as err:
            raise Failed(f"does not compile: {_compiler_says(err, errors.CompilationError, text)}") from err
        except limits.OutOfResources as err:
            raise Invalid(str(err)) from err
        except limits.PTXASError as err:
            raise Failed(f"does not compile: {_first_error(str(err).partition('stderr:')[2] or str(err))}") from err
        except RuntimeError as err:
            if "PassManager" not in str(err):
                raise
            raise Failed(f"does not compile: {_first_error(_log() or str(err))}") from err
        finally:
            candidate.bind(None, None)
        return recording.plan()

    return record_one


def _compiler_says(err: Any, kind: type[Exception], text: str) -> str:
    """The innermost compile error, with the line of the candidate file."""
    while isinstance(err.__cause__, kind):
        err = err.__cause__
    where, source, line = "", err.src or "", getattr(err.node, "lineno", 0)
    at = text.find(source.strip("\n")) if source.strip() else -1
    if line:
        where = f"line {text.count(chr(10), 0, at) + line}: " if at >= 0 else f"line {line} of the kernel: "
    cause = err.error_message or (recorder.say(err.__cause__) if err.__cause__ else type(err).__name__)
    return where + " ".join(str(cause).split())[:500]


def _first_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = [line for line in lines if _ERROR.search(line)]
    return (told or lines or ["the compiler gave no reason"])[0][:300]


def _log() -> str:
    """What this job printed so far, compilers included: standard error is a file of the laboratory."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return os.pread(2, _LOG_KEPT, 0).decode(errors="replace")
    except OSError:
        return ""


@contextlib.contextmanager
def own_folder(folder: str) -> Iterator[None]:
    """Triton's cache and temporary files in `folder`, and no line tables, which would make equal code differ."""
    wanted = {"TRITON_CACHE_DIR": f"{folder}/cache", "TRITON_HOME": folder, "HOME": folder, "TMPDIR": folder,
              "TRITON_DISABLE_LINE_INFO": "1", "TRITON_DEFAULT_FP_FUSION": "1"}  # fmt: skip
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = None
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


class WithoutTorch:
    """No torch where the zygote has none: its import costs seconds and an address space of many gigabytes.

    Candidates have no use for it. Triton 3.6 and 3.7 import it at the first launch, if they can, only to recognise its
    tensors, and remember that it was not there.
    """

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError("there is no torch here: launch() is given stand-ins, not tensors", name=name)

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)


def build(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The reply and the packed machine code."""
    driver = install(request["arch"], request["properties"])
    reply = recorder.record_with(request, recorder_of(driver, request["text"]), needs_source=False)
    if reply["status"] != "recorded":
        return {**reply, "log": _log()}, b""
    used = {step["kernel"] for step in reply["plan"]["steps"]}
    names = sorted(used & set(driver.machines))
    machines = [driver.machines[name] for name in names]
    bundle = Bundle(tuple(m.cubin for m, _ in machines), {n: (i, m.symbol) for i, (n, (m, _)) in
                                                          enumerate(zip(names, machines, strict=True))})  # fmt: skip
    ptx = {name: text[:_PTX_KEPT] for name, (_, text) in zip(names, machines, strict=True)}
    return {**reply, "ptx": ptx, "log": _log()}, pack(bundle)


def main(fds: list[int]) -> int:
    """Sandbox entry: request on the first descriptor, reply on the second, machine code on the third."""
    gc.disable()  # the process lives for one build
    request = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
    folder = os.getcwd()
    request["name"] = os.path.join(folder, "candidate.py")  # Triton reads the source of its kernels from their file
    with open(request["name"], "w") as file:
        file.write(request["text"])
    with own_folder(folder), WithoutTorch():
        if request.get("only") == "describe":
            install(90, {})
            reply, code = recorder.describe_only(request), b""
        else:
            reply, code = build(request)
    os.pwrite(fds[2], code, 0)
    os.pwrite(fds[1], json.dumps(reply).encode(), 0)
    return 0
