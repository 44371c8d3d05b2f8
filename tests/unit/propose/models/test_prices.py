from __future__ import annotations

from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.propose.models import Price, Usage, load_prices
from kernellab.propose.models.prices import user_prices_path


def test_the_table_that_comes_along_has_a_date_and_prices() -> None:
    prices = load_prices()
    assert len(prices.date) == 10
    assert prices.of("gpt-4o") == Price(2.5, 1.25, 10.0)
    assert prices.of("gpt-4o-2024-08-06") == prices.of("gpt-4o") != prices.of("gpt-4o-mini")
    assert prices.of("claude-sonnet-4-5-20250929") == prices.of("claude-sonnet-4-5")


def test_an_unknown_model_has_no_cost_and_a_note() -> None:
    prices = load_prices()
    assert prices.cost("my-own", Usage(tokens_in=1, tokens_out=1)) is None
    assert "my-own" in prices.note("my-own")
    assert prices.date in prices.note("gpt-4o")


def test_no_usage_is_no_cost() -> None:
    assert load_prices().cost("gpt-4o", Usage()) is None


def test_the_users_own_file_wins_name_by_name() -> None:
    path = user_prices_path()
    path.parent.mkdir(parents=True)
    path.write_text('date = "2026-11-01"\n[models]\n"my-own" = [0, 0, 0]\n"gpt-4o" = [1, 1, 1]\n')
    prices = load_prices()
    assert prices.cost("my-own", Usage(tokens_in=5, tokens_out=5)) == 0
    assert (prices.of("gpt-4o"), prices.date) == (Price(1, 1, 1), "2026-11-01")
    assert prices.of("gpt-4.1") is not None


@pytest.mark.parametrize(
    "text",
    ["[models", "[models]\nx = 3", "[models]\nx = [1, 2]", '[models]\nx = [1, 2, "3"]', "[models]\nx = [1, 2, -3]",
     "[models]\nx = [1, 2, nan]", "[models]\nx = [true, 1, 1]", "models = 3", "[prices]\nx = [1, 2, 3]"],
)  # fmt: skip
def test_a_file_that_is_off_is_an_error_that_names_it(text: str, tmp_path: Path) -> None:
    (path := tmp_path / "own.toml").write_text(text)
    with pytest.raises(UsageError, match=r"own\.toml") as caught:
        load_prices(path)
    assert caught.value.fix


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_prices(tmp_path / "none.toml")
