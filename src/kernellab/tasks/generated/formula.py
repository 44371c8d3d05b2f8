"""A formula drawn by a seed: a few maps, reductions and products of one to three tensors, as a file in KernelBench's form.

Everything in it is finite for ordinary inputs. Whether its outputs can show a mistake is for the proof of the judge to say:
what that refuses is drawn again.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["full", "column", "row", "wide"]
"""[A, B], [A, 1], [B] and [A, K]: what broadcasts with what."""
_UNARY = (
    "torch.relu({0})", "F.gelu({0})", "F.silu({0})", "torch.tanh({0})", "torch.sigmoid({0})", "torch.exp(-{0}.abs())",
    "torch.sqrt({0}.abs() + {c})", "torch.log1p({0}.abs())", "({0} * {0})", "(-{0})", "torch.erf({0})", "F.softplus({0})",
    "F.hardswish({0})", "{0}.clamp(-{c}, {c})", "{0}.abs()", "torch.sin({0})", "({c} * {0})", "({0} + {c})",
)  # fmt: skip
_BINARY = (
    "({0} + {1})", "({0} - {1})", "({0} * {1})", "torch.maximum({0}, {1})", "({0} / ({1}.abs() + {c}))",
    "torch.where({0} > {1}, {0}, {c} * {1})",
)  # fmt: skip
_ROWS = (
    "torch.softmax({0}, -1)", "torch.log_softmax({0}, -1)", "F.layer_norm({0}, {0}.shape[-1:])",
    "({0} * torch.rsqrt({0}.square().mean(-1, keepdim=True) + {c}))", "torch.cumsum({0}, -1)",
    "({0} - {0}.amax(-1, keepdim=True))",
)  # fmt: skip
_OVER_ROWS = (
    "{0}.sum(-1, keepdim=True)", "{0}.mean(-1, keepdim=True)", "{0}.amax(-1, keepdim=True)", "{0}.amin(-1, keepdim=True)",
    "torch.logsumexp({0}, -1, keepdim=True)", "{0}.var(-1, keepdim=True, unbiased=False)",
)  # fmt: skip
_OVER_COLUMNS = ("{0}.sum(0)", "{0}.mean(0)", "{0}.amax(0)")
_MOST_REDUCTIONS = 2


@dataclass(frozen=True)
class Sizes:
    """From and to, of rows, columns, and the columns of a product."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    product: tuple[int, int]


SMALL = Sizes((8, 64), (8, 96), (8, 48))
LARGE = Sizes((2048, 8192), (512, 4096), (64, 1024))
"""For a processor, and for a GPU."""


@dataclass(frozen=True)
class Formula:
    """`structure`: its operations without numbers and sizes. Formulas of one structure teach the same."""

    seed: int
    text: str
    structure: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.structure.encode()).hexdigest()


@dataclass(frozen=True)
class _Value:
    name: str
    kind: Kind
    line: str = ""


class _Drawing:
    """Lines are added until there are enough; those that the last one does not need are left out."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._values = [_Value("x", "full"), _Value("y", "full"), _Value("w", "row"), _Value("m", "wide")]
        self._known = dice.sample(self._values[:3], dice.choice((1, 1, 2, 2, 3)))
        self._known = ([v for v in self._known if v.kind == "full"] and self._known) or [self._values[0]]
        self._reductions = self._products = 0

    def lines(self) -> list[_Value]:
        count = self._dice.randint(2, 6)
        while len([v for v in self._known if v.line]) < count:
            step = self._dice.choices(
                (self._unary, self._binary, self._rows, self._over, self._product), (4, 5, 2, 2, 1)
            )
            step[0]()
        return [v for v in self._known if v.line]

    def _add(self, kind: Kind, pattern: str, *names: str) -> None:
        number = f"{self._dice.uniform(0.2, 2.0):.2f}"
        name = f"v{sum(1 for v in self._known if v.line)}"
        self._known.append(_Value(name, kind, pattern.format(*names, c=number)))

    def _pick(self, *kinds: Kind) -> _Value | None:
        """Rather a late one."""
        fitting = [v for v in self._known if v.kind in kinds]
        return self._dice.choices(fitting, range(1, len(fitting) + 1))[0] if fitting else None

    def _unary(self) -> None:
        if value := self._pick("full", "column", "row", "wide"):
            self._add(value.kind, self._dice.choice(_UNARY), value.name)

    def _binary(self) -> None:
        first = self._pick("full", "column", "row", "wide")
        others: dict[Kind, tuple[Kind, ...]] = {
            "full": ("full", "column", "row"), "column": ("column", "full"), "row": ("row", "full"),
            "wide": ("wide", "column"),
        }  # fmt: skip
        second = self._pick(*others[first.kind]) if first else None
        if first and second and first is not second:  # a thing less itself is nothing
            kind: Kind = first.kind if second.kind in ("column", first.kind) else "full"
            kind = second.kind if first.kind == "column" else kind
            self._add(kind, self._dice.choice(_BINARY), first.name, second.name)

    def _rows(self) -> None:
        value = self._pick("full", "wide")
        if value and self._reductions < _MOST_REDUCTIONS:
            self._reductions += 1
            self._add(value.kind, self._dice.choice(_ROWS), value.name)

    def _over(self) -> None:
        value = self._pick("full", "wide")
        if value is None or self._reductions == _MOST_REDUCTIONS:
            return
        self._reductions += 1
        if value.kind == "full" and self._dice.random() < 0.3:
            self._add("row", self._dice.choice(_OVER_COLUMNS), value.name)
        else:
            self._add("column", self._dice.choice(_OVER_ROWS), value.name)

    def _product(self) -> None:
        value = self._pick("full")
        if value and not self._products:
            self._products = 1
            self._add("wide", "({0} @ m)", value.name)


def draw(seed: int, sizes: Sizes = SMALL, dtype: str = "float32") -> Formula:
    """The same for the same seed, whatever its sizes and type."""
    dice = random.Random(seed)
    lines = _needed(_Drawing(dice).lines())
    body = " ".join(v.line for v in lines)
    rows, columns, product = (dice.randint(*span) for span in (sizes.rows, sizes.columns, sizes.product))
    shapes = {"x": (rows, columns), "y": (rows, columns), "w": (columns,), "m": (columns, product)}
    inputs = {name: shape for name, shape in shapes.items() if re.search(rf"\b{name}\b", body)}
    structure = "; ".join(re.sub(r"\d+\.\d+", "c", f"{v.name} = {v.line}") for v in lines)
    return Formula(seed, _file(seed, lines, inputs, dtype), f"{dtype}: {structure}")


def _needed(lines: Sequence[_Value]) -> list[_Value]:
    """What the last line is made of, numbered anew."""
    wanted, kept = {lines[-1].name}, list[_Value]()
    for value in reversed(lines):
        if value.name in wanted:
            wanted |= set(re.findall(r"\bv\d+\b", value.line))
            kept.insert(0, value)
    names = {value.name: f"v{number}" for number, value in enumerate(kept)}
    renamed: Callable[[str], str] = lambda text: re.sub(r"\bv\d+\b", lambda m: names[m[0]], text)  # noqa: E731
    return [_Value(names[v.name], v.kind, renamed(v.line)) for v in kept]


def _file(seed: int, lines: Sequence[_Value], inputs: dict[str, tuple[int, ...]], dtype: str) -> str:
    cast = "" if dtype == "float32" else f".to(torch.{dtype})"
    made = ", ".join(f"torch.randn({', '.join(map(str, shape))}){cast}" for shape in inputs.values())
    return "\n".join([
        f'"""Formula {seed}."""', "", "import torch", "import torch.nn.functional as F", "from torch import nn", "", "",
        "class Model(nn.Module):",
        f"    def forward(self, {', '.join(inputs)}):",
        *(f"        {v.name} = {v.line}" for v in lines),
        f"        return {lines[-1].name}", "", "",
        "def get_inputs():", f"    return [{made}]", "",
    ])  # fmt: skip
