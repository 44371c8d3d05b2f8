"""A transformer of plain tensors: a context is read once, sentences are spoken under it word by word.

The reader is the larger part, since it works once for all samples of a situation; the speaker is one layer, which sees the
words before and looks at what was read. What a word is read by is what it is spoken by (tied), so that an exemplar, the
sum of its own words, can be repeated by looking at it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kernellab.learn.extra import needed
from kernellab.learn.policy.situation import DEVICE_NUMBERS, EXEMPLAR_NUMBERS, MOST_EXEMPLARS, MOST_EXTENTS

if TYPE_CHECKING:
    from torch import Generator, Tensor

Weights = dict[str, "Tensor"]
Seen = tuple["Tensor", "Tensor"]
"""Keys and values to look at: batch x heads x tokens x width of a head."""

_CONTEXT = ("task", "dtype", "shape", "device", *(f"exemplar{n}" for n in range(MOST_EXEMPLARS)))


@dataclass(frozen=True)
class Size:
    width: int = 64
    layers: int = 2
    heads: int = 4

    def facts(self) -> dict[str, int]:
        return asdict(self)


def new_weights(size: Size, words: int, tasks: int, dtypes: int, longest: int, generator: Generator) -> Weights:
    """Drawn small, so that every sentence is about as likely as its fellows at first."""
    torch = needed("torch")
    width = size.width
    shapes: dict[str, tuple[int, ...]] = {
        "word": (words, width), "task": (tasks, width), "dtype": (dtypes, width), "role": (len(_CONTEXT), width),
        "place": (longest, width), "shape": (MOST_EXTENTS + 1, width), "device": (DEVICE_NUMBERS, width),
        "exemplar": (EXEMPLAR_NUMBERS, width),
    }  # fmt: skip
    for layer, wider in [*((f"reader{n}", 4) for n in range(size.layers)), ("speaker", 2)]:
        shapes |= {f"{layer}.attend": (width, 3 * width), f"{layer}.join": (width, width)}
        shapes |= {f"{layer}.widen": (width, wider * width), f"{layer}.narrow": (wider * width, width)}
    shapes["speaker.look"] = (width, 2 * width)
    weights: Weights = {}
    for name, shape in shapes.items():
        spread = 0.3 if name in ("word", "task", "dtype", "role", "place") else 1 / math.sqrt(shape[0])
        spread *= 0.3 if name.endswith(("join", "narrow")) else 1.0
        weights[name] = torch.randn(shape, generator=generator) * spread
    return weights


def count(weights: Weights) -> int:
    return sum(value.numel() for value in weights.values())


def _normed(x: Tensor) -> Tensor:
    return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def _heads(x: Tensor, heads: int) -> Tensor:
    return x.view(*x.shape[:-1], heads, -1).transpose(-3, -2)


def _layer(
    weights: Weights, layer: str, heads: int, x: Tensor, before: Seen | None, seen: Tensor
) -> tuple[Tensor, Seen]:
    """`seen`: True where a token (row) looks at another (column); columns are those of `before`, then its own."""
    torch = needed("torch")
    query, key, value = (_heads(part, heads) for part in (_normed(x) @ weights[f"{layer}.attend"]).chunk(3, -1))
    if before is not None:
        key, value = torch.cat([before[0], key], -2), torch.cat([before[1], value], -2)
    looked = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
    x = x + looked.transpose(-3, -2).flatten(-2) @ weights[f"{layer}.join"]
    x = x + (_normed(x) @ weights[f"{layer}.widen"]).relu() @ weights[f"{layer}.narrow"]
    return x, (key, value)


@dataclass(frozen=True)
class Context:
    """Numbers of a batch of situations. `exemplars`: their words as 0 and 1; `shown`: which exemplars there are."""

    task: Tensor
    dtype: Tensor
    shape: Tensor
    device: Tensor
    exemplars: Tensor
    speeds: Tensor
    shown: Tensor


def read(weights: Weights, size: Size, context: Context) -> tuple[Seen, Tensor]:
    """What the speaker looks at, and which of the context's tokens are there."""
    torch = needed("torch")
    told = context.exemplars @ weights["word"] + context.speeds @ weights["exemplar"]
    plain = [weights["task"][context.task], weights["dtype"][context.dtype], context.shape @ weights["shape"],
             context.device @ weights["device"]]  # fmt: skip
    x = torch.cat([torch.stack(plain, 1), told], 1) + weights["role"]
    there = torch.cat([torch.ones(len(x), len(plain), dtype=torch.bool), context.shown], 1)
    for layer in range(size.layers):
        x, _ = _layer(weights, f"reader{layer}", size.heads, x, None, there[:, None, None, :])
    key, value = (_heads(part, size.heads) for part in (_normed(x) @ weights["speaker.look"]).chunk(2, -1))
    return (key, value), there


def speak(weights: Weights, size: Size, seen: Seen, there: Tensor, said: Tensor, start: int) -> tuple[Tensor, Seen]:
    """Logits of the word after each of `said` (batch x new words; -1 stands for the beginning), which come at `start`; what
    was said before them is in `seen`."""
    torch = needed("torch")
    fresh = said.shape[1]
    x = torch.nn.functional.embedding(said.clamp(min=0), weights["word"]) * (said >= 0).unsqueeze(-1)
    x = x + weights["place"][start : start + fresh]
    own = torch.ones(fresh, start + fresh, dtype=torch.bool).tril(start)
    visible = torch.cat([there[:, None, :].expand(-1, fresh, -1), own.expand(len(said), -1, -1)], -1)[:, None]
    x, kept = _layer(weights, "speaker", size.heads, x, seen, visible)
    return _normed(x) @ weights["word"].T.contiguous() / math.sqrt(x.shape[-1]), kept  # a copy is faster than a view


def repeated(seen: Seen, there: Tensor, rows: Sequence[int]) -> tuple[Seen, Tensor]:
    """The context of each sample: that of its situation."""
    at = needed("torch").tensor(rows)
    return (seen[0].index_select(0, at), seen[1].index_select(0, at)), there[at]
