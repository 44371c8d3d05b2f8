"""What the device that a table names can do at most, from its maker's data sheet (devices.toml)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("devices.toml")
_KINDS = {
    "fp16": r"fp16|float16|\bf16\b|\bhalf\b", "bf16": r"bf16|bfloat16", "fp8": r"fp8|float8|e4m3|e5m2", "int8": r"int8",
    "tf32": r"tf32", "fp32": r"fp32|float32|\bf32\b|\bsgemm", "fp64": r"fp64|float64|double|\bdgemm",
}  # fmt: skip


@dataclass(frozen=True)
class Device:
    """`memory` in bytes a second; `tensor` in operations a second by dtype, without sparsity."""

    name: str
    names: tuple[re.Pattern[str], ...]
    memory: float
    tensor: dict[str, float]
    source: str

    def most(self, words: str) -> tuple[str, float]:
        """For the dtype that the words name, the fastest of several; without one, whatever is fastest."""
        kinds = [k for k, pattern in _KINDS.items() if re.search(pattern, words, re.IGNORECASE) and k in self.tensor]
        if "fp32" in kinds and "tf32" in self.tensor:
            kinds.append("tf32")  # products of float32 may be made of tf32 without a word
        best = max(kinds or self.tensor, key=lambda k: self.tensor[k])
        return best, self.tensor[best]


@cache
def known_devices() -> tuple[Device, ...]:
    data = tomllib.loads(_FILE.read_text())
    return tuple(
        Device(
            d["name"], tuple(re.compile(n, re.IGNORECASE) for n in d["names"]), d["memory"] * 1e9,
            {k: v * 1e12 for k, v in d["tensor"].items()}, d["source"],
        )
        for d in data["device"]
    )  # fmt: skip


def device_in(words: str) -> Device | None:
    """The one device that a text names; None where it names none, or several."""
    found: list[tuple[int, int, Device]] = []
    for device in known_devices():
        for pattern in device.names:
            found += [(m.start(), m.end(), device) for m in pattern.finditer(words)]
    inner = {id(f) for f in found for g in found if g is not f and g[0] <= f[0] and f[1] < g[1]}
    same_place: dict[int, Device] = {}
    for start, _, device in (f for f in found if id(f) not in inner):
        same_place.setdefault(start, device)
    devices = {d.name: d for d in same_place.values()}
    return next(iter(devices.values())) if len(devices) == 1 else None
