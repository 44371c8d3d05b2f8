"""What training needs beyond the core, imported when it is used. Without it the error names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any

from kernellab.core.errors import EnvironmentFault


def needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise EnvironmentFault(
            f"training needs {name}, which cannot be imported ({err})", "pip install 'kernellab[learn]'"
        ) from None
