"""What the user asks of an import besides the module. Apart from the import itself, which most commands never need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernellab.tasks.modules.record import ModuleRecord, Precision, ShapeGroups


@dataclass(frozen=True)
class Wishes:
    """Its mode, the contract, shapes of their own, its backward.

    `like`: the forward of a backward, whose shapes it is to have where they fit: the two are timed together. `keep_text`:
    whether the record holds the module's own text, which others may not be free to pass on.
    """

    eval_mode: bool = False
    precision: Precision = "ieee"
    shapes: ShapeGroups | None = None
    backward: bool = False
    like: ModuleRecord | None = None
    keep_text: bool = True


AS_IT_IS = Wishes()
