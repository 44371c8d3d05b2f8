"""Packages that can be called: kernellab.verify is the folder of the judge and, called, the API function of that name.

Importing a sub-package binds it in its parent, over any function of the same name; so the package itself answers the call.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of the same name in the API."""
        return getattr(importlib.import_module("kernellab.api"), self.__name__.rpartition(".")[2])(*args, **kwargs)


def make_callable(name: str) -> None:
    sys.modules[name].__class__ = _CallablePackage
