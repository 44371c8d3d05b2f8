"""Torch, imported when it is needed. Without it the error names the extra to install."""

from __future__ import annotations

import os
from typing import Any

from kernellab.core.errors import EnvironmentFault


def need_torch() -> Any:
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # large tensors in large pages: a tenth of the page faults
    try:
        import torch
    except ImportError as err:
        raise EnvironmentFault(
            f"PyTorch modules need torch, which cannot be imported ({err})", "pip install 'kernellab[torch]'"
        ) from None
    return torch
