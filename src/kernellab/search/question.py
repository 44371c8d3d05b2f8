"""What a model is asked to do in a run, kept with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.settings import Science
from kernellab.propose.models import Policy

_PYTORCH = "pytorch.py"


@dataclass(frozen=True)
class Question:
    """`pytorch`: code to translate; `templates`: the user's own."""

    science: Science
    pytorch: str = ""
    templates: Path | None = None
    policy: Policy | None = None

    @staticmethod
    def of(folder: Path, recorded: Mapping[str, Any] | None) -> Question:
        """Of a run that is resumed; its templates lie in its folder."""
        code = folder / _PYTORCH
        return Question(Science(**(recorded or {})), code.read_text() if code.is_file() else "")

    def data(self) -> dict[str, Any] | None:
        return self.science.model_dump(mode="json") if self.science.model else None

    def files(self) -> dict[str, bytes]:
        """What the run's folder keeps of it, and its first entry names."""
        return {_PYTORCH: self.pytorch.encode()} if self.pytorch else {}
