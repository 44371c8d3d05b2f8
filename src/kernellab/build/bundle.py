"""GPU machine code as one blob: the modules (cubins) of a candidate, and which kernel of a plan lies in which of them."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

from kernellab.core.ids import canonical_json

_MAGIC = b"KLABGPU1"
_MOST_MODULES = 256


@dataclass(frozen=True)
class Bundle:
    """`kernels` maps the names that plans use to (number of the module, symbol in it)."""

    modules: tuple[bytes, ...]
    kernels: dict[str, tuple[int, str]]


def pack(bundle: Bundle) -> bytes:
    header = canonical_json({"kernels": bundle.kernels, "modules": [len(m) for m in bundle.modules]})
    return _MAGIC + struct.pack("<I", len(header)) + header + b"".join(bundle.modules)


def unpack(data: bytes) -> Bundle:
    """Raises ValueError on anything that pack() does not write."""
    try:
        if data[:8] != _MAGIC:
            raise ValueError("no such file")
        (length,) = struct.unpack_from("<I", data, 8)
        header = json.loads(data[12 : 12 + length])
        sizes = [int(n) for n in header["modules"]]
        if len(sizes) > _MOST_MODULES or any(n < 0 for n in sizes) or 12 + length + sum(sizes) != len(data):
            raise ValueError("the sizes do not fit")
        modules, at = [], 12 + length
        for size in sizes:
            modules.append(data[at : at + size])
            at += size
        kernels = {str(k): (int(v[0]), str(v[1])) for k, v in header["kernels"].items()}
        "".join((*kernels, *(symbol for _, symbol in kernels.values()))).encode()  # no broken text
        if any(not 0 <= module < len(modules) for module, _ in kernels.values()):
            raise ValueError("a kernel lies in no module")
        return Bundle(tuple(modules), kernels)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error,
            OverflowError, RecursionError) as err:  # fmt: skip
        raise ValueError(f"the machine code is not a bundle of GPU modules: {err}") from None
