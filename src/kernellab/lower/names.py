"""Names that C and Python can have, for the tensors and sizes of fused kernels; and where a launch finds the sizes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import replace

from kernellab.graph.record import GraphRecord
from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import Store, tensor_name
from kernellab.lower.merge import flat
from kernellab.lower.rebuild import Names, rebuilt
from kernellab.lower.rows import rows_of
from kernellab.lower.site import NotLowered
from kernellab.lower.sizes import Size
from kernellab.lower.tensors import Tensor

_RESERVED = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm "
    "main l first lanes real block LANES EXP MATH NULL INFINITY NAN I exp exp2 expm1 log log2 log10 log1p sqrt sin "
    "cos tan tanh erf asin acos atan sinh cosh floor ceil trunc pow rint labs fabs isinf isnan gamma y0 y1 yn j0 j1 "
    "jn index abs kernel tl triton libdevice range scratch launch at mask there blocks row part inner BLOCK WARPS "
    "PARTS PIECE at_m at_n at_k at_a at_b at_batch in_m in_n in_a in_b tile tiles_m tiles_n group high first_m left "
    "right step total fresh dot parts six pieces at_window to middle low left_in right_in SPLITS INDEX "
    "BLOCK_M BLOCK_N BLOCK_K GROUP_M PRECISION STAGES ERF TANH LOG LOG1P EXPM1 fmod atan2 hypot copysign "
    "SHARES PROGRAMS share others begin board ready DEEP GROUPS nth "
    "QUERIES KEYS WIDTH TERMS tiles query key product scores values weights top below near higher shrink end in_k "
    "in_k_down at_key at_key_down "
    "inside limit nth in_band first_row panel vec acc ROWS VECS BAND STEPS WIDTH UNROLLED"
)
_WORDS = frozenset(_RESERVED.split())
_OURS = re.compile(
    r"(i|r|v|at|d|acc|sums|made|near|inside|part|row_|at_)\d+[oib]*(_\d+)?|step\d+|(left|right)[012]|from_bf16|to_bf16|\w+_poly"
)


class FusionNames:
    """Names that C and Python can have, for tensors and sizes."""

    def __init__(self, fusion: Fusion) -> None:
        record = fusion.graph.record
        self.sizes = fusion.sizes
        taken: set[str] = {s.name for s in record.symbols}
        self._names: dict[str, str] = {}
        self.inputs = [self._new(i.name, taken) for i in record.inputs]
        keys = fusion.graph.outputs
        self.outputs = [self._new(tensor_name(k), taken, "out" if n == 0 else f"out{n}") for n, k in enumerate(keys)]
        stored = [s.tensor for stores in fusion.kernels for s in stores if s.tensor not in keys]
        self.scratch = [self._new(tensor_name(k), taken) for k in stored]
        self.tensors = {
            name: Tensor(name, fusion.stored_as(key), tuple(fusion.graph.shape(key)))
            for key in fusion.graph.types
            if (name := self._names.get(tensor_name(key))) is not None
        }
        self.real = "double" if any(t.dtype == "float64" for t in self.tensors.values()) else "float"

    def _new(self, name: str, taken: set[str], wanted: str = "") -> str:
        self._names[name] = found = safe(wanted or name, taken)
        taken.add(found)
        return found

    def add(self, tensor: Tensor) -> None:
        """One more tensor between kernels."""
        self.tensors[tensor.name] = tensor
        self.scratch.append(tensor.name)

    def kernels(self, fusion: Fusion, along: bool = False) -> list[list[Store]]:
        """With these names, and every element by its place in memory. `along`: what is reduced along rows is reduced over
        the axes of the rows themselves, so that both are merged alike."""
        found = []
        for stores in fusion.kernels:
            rows = rows_of(stores) if along else None
            found.append(self.flat(self.named(rows.stores if rows else stores)))
        return found

    def named(self, stores: Sequence[Store]) -> list[Store]:
        """With these names, and every element by its indices."""
        change = Names(self._names)
        return [
            replace(s, tensor=(self._names[tensor_name(s.tensor)], 0), value=rebuilt(s.value, change)) for s in stores
        ]

    def flat(self, stores: Sequence[Store]) -> list[Store]:
        return flat(stores, {name: tensor.shape for name, tensor in self.tensors.items()})


def safe(name: str, taken: set[str]) -> str:
    found = re.sub(r"\W", "_", name).strip("_") or "t"
    found = f"t{found}" if found[0].isdigit() else found
    while found in taken or found in _WORDS or keyword.iskeyword(found) or _OURS.fullmatch(found):
        found += "_"
    return found


def size_lines(record: GraphRecord, names: FusionNames, used: set[str]) -> list[str]:
    """The lines of a launch that read sizes from the inputs, and those that make scratch buffers."""
    used = used | {s for t in names.scratch for e in names.tensors[t].shape for s in e.symbols}
    lines = [f"    {s.name} = {_where(record, s.name, names)}" for s in record.symbols if s.name in used]
    for name in names.scratch:
        tensor = names.tensors[name]
        shape = ", ".join(e.text for e in tensor.shape) or "1"
        lines.append(f'    {name} = scratch(({shape},), "{_scratch_type(tensor)}")')
    return lines


def _scratch_type(tensor: Tensor) -> str:
    return "uint8" if tensor.dtype == "bool" else tensor.dtype


def _where(record: GraphRecord, symbol: str, names: FusionNames) -> str:
    """A size, from the shape of an input that has it."""
    for entry, name in zip(record.inputs, names.inputs, strict=True):
        for dim, extent in enumerate(entry.type.extents):
            if Size.of(extent) == Size.of(symbol):
                return f"{name}.shape[{dim}]"
    raise NotLowered(f"the size {symbol}, which no input shows as it is")
