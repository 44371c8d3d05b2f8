"""What a generated file says of itself."""

from __future__ import annotations

import re

from kernellab.lower.fusion import Fusion
from kernellab.lower.inline import tensor_name


def about(fusion: Fusion, why: str) -> str:
    """The docstring of a generated file."""
    made = ", ".join(tensor_name(s[0].tensor) for s in fusion.kernels)
    count = len(fusion.kernels)
    name = re.sub(r"[^\w .:<>-]", "_", fusion.graph.record.name)
    head = f"{name} in {count} kernel{'s' if count > 1 else ''} ({made}), generated from its graph."
    return f"{head}\n\nHypothesis: {why}\n"
