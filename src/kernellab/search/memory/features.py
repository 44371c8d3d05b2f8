"""Niches: what a kernel does to the hardware, not how long its text is.

Figures come from the record (floors of the timing, resources of the artifact), tags from the parameters and from the
source without its comments. Not covered: what a kernel does at run time beyond that (bank conflicts, divergence); a
tag is a hint for choosing exemplars, never a claim. 0 and "unknown" stand for what is not known, also for failures:
no kernel that runs has 0 registers (on a GPU) or an occupancy of 0.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kernellab.core.records import FailedTrial, Param, Timing
from kernellab.core.targets import Language, home_of, languages, platform_facts, recognised, recorded_machine
from kernellab.search.memory.specimen import Specimen

Bound = Literal["memory", "arithmetic", "launch", "unknown"]

_RESERVED_SHARED = 1024
_NUMBERS = {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4}
_PASSES = re.compile(r"\b(one|single|two|three|four)[ _-]+pass")
_TILE = re.compile(r"BLOCK|ROWS|COLUMNS|CHUNK|TILE|BAND|WIDTH|ITEMS|UNROLL|STEP|GROUP|PX|HELD|STAGES", re.IGNORECASE)
_BLOCKING = re.compile(r"BLOCK|TILE|BAND|CHUNK|COLUMNS", re.IGNORECASE)
_VECTOR_PARAM = re.compile(r"VEC(TOR)?(_?WIDTH)?|PX", re.IGNORECASE)
_GPU_VECTOR = re.compile(r"\b(?:float|int|uint|short|ushort|double|half|bf16x?)(2|4|8)\b|\.v(2|4|8)\.")
_TAGS: dict[str, re.Pattern[str]] = {
    "shared": re.compile(r"__shared__|\bcp\.async|tl\.static_memory"),
    "persistent": re.compile(r"\bnum_programs\b|\+=\s*gridDim\.|\bpersistent\b"),
    "async-copy": re.compile(r"cp\.async|memcpy_async|cp\.reduce\.async"),
    "tensor-core": re.compile(r"\btl\.dot\b|\bmma\.|\bwgmma\."),
    "cooperative": re.compile(r"cooperative\s*=\s*True|cluster\s*="),
    "shuffle": re.compile(r"__shfl|shfl\.sync"),
    "atomic": re.compile(r"\batomic\w*\(|tl\.atomic"),
    "streamed-stores": re.compile(r"_mm\d*_stream|nontemporal_store|st\.global\.cs|evict_first|__stcs"),
    "vector-extension": re.compile(r"vector_size|_mm(?:256|512)?_|arm_neon|omp simd"),
    "threads": re.compile(r"omp parallel|pthread_create"),
}
_C_ONLY = {"vector-extension", "threads"}
_GPU_ONLY = {"shared", "persistent", "async-copy", "tensor-core", "cooperative", "shuffle", "atomic"}


@dataclass(frozen=True)
class Features:
    """`tile` is the logarithm to base 2 of the product of the tile-like parameters; `vector` elements an access
    (1: scalar, 0: as wide as the machine); `of_floor` the share of the floor that was reached."""

    outcome: str
    backend: str
    bound: Bound
    of_floor: float
    registers: int
    spill_bytes: int
    shared_bytes: int
    occupancy: float
    tile: int
    vector: int
    passes: int
    tags: frozenset[str]

    @property
    def niche(self) -> str:
        """The cell this kernel lives in: coarse on purpose, so that cells fill up."""
        parts = [
            self.backend,
            self.bound,
            "spills" if self.spill_bytes else f"regs{_band(self.registers, 32)}",
            f"shared{_band(self.shared_bytes, 16384)}",
            f"occ{round(4 * self.occupancy)}",
            f"pass{self.passes}",
            "+".join(sorted(self.tags)) or "plain",
        ]
        return "/".join(parts)


def features(specimen: Specimen) -> Features:
    trial = specimen.trial
    artifact = None if isinstance(trial, FailedTrial) else trial.artifact
    backend = artifact.backend if artifact else backend_of(specimen.source)
    resources = artifact.resources if artifact else {}
    params = trial.proposal.params
    tags, vector, passes = _read_source(specimen.source, trial.proposal.name, backend)
    blocking = {"blocking"} if _on_processor(backend) and any(_BLOCKING.fullmatch(k) for k in params) else set()
    if resources.get("shared", 0) > _RESERVED_SHARED:
        blocking.add("shared")
    wide = [int(v) for k, v in params.items() if _VECTOR_PARAM.fullmatch(k) and isinstance(v, int)]
    return Features(
        outcome=trial.status,
        backend=backend,
        bound=bound_of(specimen.timing, backend),
        of_floor=specimen.timing.of_floor if specimen.timing else 0.0,
        registers=resources.get("registers", 0),
        spill_bytes=resources.get("spill_bytes", 0) or resources.get("local_bytes", 0),
        shared_bytes=resources.get("shared", 0),
        occupancy=occupancy(trial.device, backend, resources, params),
        tile=_tile(params),
        vector=max(wide, default=vector),
        passes=passes,
        tags=tags | blocking,
    )


def bound_of(timing: Timing | None, backend: str) -> Bound:
    """Launch: the call takes no longer than a few starts. Otherwise whichever floor is higher at this shape."""
    if timing is None:
        return "unknown"
    if timing.latency_s < 3 * _launch_s(backend):
        return "launch"
    return "memory" if timing.memory_floor_s >= 0.999 * timing.floor_s else "arithmetic"


def occupancy(device: str, backend: str, resources: dict[str, int], params: dict[str, Param]) -> float:
    """Resident threads over what a processor of the device holds. An estimate: block sizes come from the parameters'
    names."""
    return recorded_machine(device)[0].occupancy(device, _block_threads(backend, params), resources)


def backend_of(source: str) -> str:
    """The language of a source that was never built."""
    found = recognised(source)
    return found.name if found else "unknown"


def _language(backend: str) -> Language | None:
    """None for what is not known here: records of other installations are read too."""
    return next((found for found in languages() if found.name == backend), None)


def _on_processor(backend: str) -> bool:
    return _language(backend) is not None and not platform_facts(home_of(backend)).accelerator


def _launch_s(backend: str) -> float:
    return platform_facts(home_of(backend)).launch_s if _language(backend) else 0.0


def _block_threads(backend: str, params: dict[str, Param]) -> int:
    """0 where the parameters do not say, and the language has no number of its own."""
    sizes = {k.lower(): v for k, v in params.items() if isinstance(v, int) and not isinstance(v, bool)}
    if "threads" in sizes or "block_threads" in sizes:
        return max(0, sizes.get("threads", sizes.get("block_threads", 0)))
    found = _language(backend)
    return max(0, 32 * sizes.get("warps", sizes.get("num_warps", found.warps if found else 0)))


def _tile(params: dict[str, Param]) -> int:
    sizes = [v for k, v in params.items() if _TILE.fullmatch(k) and isinstance(v, int) and not isinstance(v, bool)]
    return round(sum(math.log2(v) for v in sizes if v > 0))


def _band(value: int, unit: int) -> int:
    """0, then 1 up to one unit, 2 up to two units, 3 up to four: bands that double."""
    return 0 if value <= 0 else 1 + max(0, math.ceil(math.log2(value / unit)))


@lru_cache(maxsize=4096)
def _read_source(source: str, name: str, backend: str) -> tuple[frozenset[str], int, int]:
    code = strip_comments(source)
    unwanted = _GPU_ONLY if _on_processor(backend) else _C_ONLY
    tags = {tag for tag, pattern in _TAGS.items() if tag not in unwanted and pattern.search(code)}
    head = f"{name.replace('_', ' ')} {source[:600]}".lower()
    if re.search(r"\bonline\b", head):
        tags.add("online")
    said = _PASSES.search(head)
    passes = _NUMBERS[said[1]] if said else 0
    if _on_processor(backend):
        return frozenset(tags), 0 if "vector-extension" in tags else 1, passes
    widths = [int(a or b) for a, b in _GPU_VECTOR.findall(code)]
    return frozenset(tags), max(widths, default=1), passes


def strip_comments(source: str) -> str:
    """Without comments of C and Python and without the file's docstring: their words do not change what the kernel does."""
    body = re.sub(r'\A\s*(?:r?"""[\s\S]*?""")', "", source)
    body = re.sub(r"/\*[\s\S]*?\*/|//[^\n]*", " ", body)
    return re.sub(
        r"(?m)(^|\s)#(?!\s*(?:define|include|if|ifdef|ifndef|elif|else|endif|pragma|error)\b)[^\n]*", r"\1", body
    )
