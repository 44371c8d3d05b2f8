"""What a person sees of a scientist's costs: before a run, and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from kernellab.search.scientist.estimate import Forecast


def spent(console: Console, model: dict[str, Any] | None) -> None:
    """What a model took, failed calls included."""
    if not model:
        return
    money = f", ${model['usd']:.4f}" if not model["unpriced"] else ", price not known"
    failed = f" ({model['failed']} failed)" if model["failed"] else ""
    console.print(
        f"\nmodel {model['name']}: {model['calls']} calls{failed}, {model['tokens_in']:,} tokens in, "
        f"{model['tokens_out']:,} out{money}",
        markup=False,
        soft_wrap=True,
    )


def forecast(console: Console, found: Forecast) -> None:
    """What a run would cost at most."""
    console.print(f"{found.model}: about {found.generations} generations; nothing was asked", markup=False)
    for word, calls, tokens, usd in (
        ("if every kernel works at once", found.calls, found.tokens, found.usd),
        ("if every one is repaired to the last", found.most_calls, found.most_tokens, found.most_usd),
    ):
        money = "price not known" if usd is None else f"${usd:.2f} at most"
        console.print(f"  {word:38} {calls:6} calls  {tokens:12,} tokens  {money}", markup=False, soft_wrap=True)
    console.print(f"  {found.note}; replies are counted as long as they may be", markup=False, soft_wrap=True)
    if found.limits:
        kept = ", ".join(f"{v:g} {k}" for k, v in found.limits.items())
        console.print(f"  and never more than the budget: {kept}", markup=False, soft_wrap=True)
