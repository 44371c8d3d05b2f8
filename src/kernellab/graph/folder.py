"""robust-kbench's folders: func_forward.py with settings in config_forward.json. Only the forward task is read here."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

from kernellab.core.errors import TaskRefused
from kernellab.graph.source import Request

_CODE, _CONFIG = "func_forward.py", "config_forward.json"


def is_folder(path: str) -> bool:
    return os.path.isfile(os.path.join(path, _CODE))


def settings(path: str) -> list[Request]:
    """One request for each setting: the single one first, then every combination of the several."""
    file = os.path.abspath(os.path.join(path, _CODE))
    config = _config(os.path.join(path, _CONFIG))
    found = []
    for kind in ("single", "multi"):
        choices = [config.get(f"{kind}_{part}_configs") or [{}] for part in ("shared", "init", "input")]
        for shared, init, inputs in itertools.product(*choices):
            found.append(Request(file, "Model", {**shared, **init}, {**shared, **inputs}))
    return found


def _config(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as err:
        raise TaskRefused(f"{path} is not JSON: {err}", "correct the file") from None
    if not isinstance(config, dict):
        raise TaskRefused(f"{path} holds no settings", "it should be a JSON object")
    return config
