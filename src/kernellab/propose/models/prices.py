"""What a call costs: a dated table that comes along, and the user's own file over it. No price: no guess."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.settings import config_path
from kernellab.propose.models.base import Usage

TABLE = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    fresh: float
    cached: float
    output: float


@dataclass(frozen=True)
class Prices:
    date: str
    models: Mapping[str, Price]

    def of(self, model: str) -> Price | None:
        """By name; `claude-x-20250929` and `gpt-x-2025-04-14` cost what `claude-x` and `gpt-x` cost."""
        return self.models.get(model) or self.models.get(_DATED.sub("", model))

    def cost(self, model: str, usage: Usage) -> float | None:
        """None: no price, or no usage."""
        price = self.of(model)
        if price is None or usage.tokens_in is None or usage.tokens_out is None:
            return None
        cached = min(usage.tokens_cached or 0, usage.tokens_in)
        fresh = usage.tokens_in - cached
        return (fresh * price.fresh + cached * price.cached + usage.tokens_out * price.output) / _MILLION

    def note(self, model: str) -> str:
        """For estimates and reports."""
        if self.of(model) is None:
            return f"no price is known for '{model}': cost not counted (give one in {user_prices_path()})"
        return f"list price of {self.date}"


def user_prices_path() -> Path:
    return config_path().with_name("prices.toml")


def load_prices(path: Path | None = None) -> Prices:
    """The table that comes along, with the user's own file over it where there is one."""
    date, models = _read(TABLE)
    own = path or user_prices_path()
    if path is not None or own.is_file():
        own_date, own_models = _read(own)
        date, models = own_date or date, {**models, **own_models}
    return Prices(date, models)


def _read(path: Path) -> tuple[str, dict[str, Price]]:
    try:
        data = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise UsageError(f"{path} cannot be read: {err}", "correct or remove the file") from None
    table = data.get("models", {})
    if unknown := sorted(set(data) - {"date", "models"}):
        raise UsageError(f"{path}: unknown key '{unknown[0]}'", "a price file holds date and [models]")
    if not isinstance(table, dict):
        raise UsageError(f"{path}: models is not a table", 'write [models] and below it "NAME" = [1.0, 0.1, 5.0]')
    return str(data.get("date", "")), {name: _price(path, name, row) for name, row in table.items()}


def _price(path: Path, name: str, row: Any) -> Price:
    good = isinstance(row, list) and len(row) == 3
    if not good or any(isinstance(v, bool) or not isinstance(v, int | float) for v in row):
        good = False
    if not good or any(not math.isfinite(v) or v < 0 for v in row):
        raise UsageError(
            f"{path}: the price of '{name}' is {row!r}",
            "give three numbers, US dollars for a million tokens: [input, cached input, output]",
        )
    return Price(*(float(v) for v in row))
