"""What a generated file is called, and what it says of itself."""

from __future__ import annotations

import re

from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import tensor_name
from kernellab.lower.names import safe


def named(fusion: Fusion, form: str) -> str:
    """By its form, by what differs from the first plan, and by its graph."""
    return "_".join(filter(None, (form, fusion.label, safe(fusion.graph.record.name, set()).lower())))


def about(fusion: Fusion, why: str) -> str:
    """The docstring of a generated file."""
    made = ", ".join(" and ".join(tensor_name(s.tensor) for s in stores) for stores in fusion.kernels)
    count = len(fusion.kernels)
    name = re.sub(r"[^\w .:<>-]", "_", fusion.graph.record.name)
    head = f"{name} in {count} kernel{'s' if count > 1 else ''} ({made}), generated from its graph."
    return f"{head}\n\nHypothesis: {' '.join(filter(None, (why, fusion.why)))}\n"
