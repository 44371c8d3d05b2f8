"""Anthropic's messages API. It takes no seed: the request keeps it as part of its identity only.

Its newer SDKs know no temperature either, but older models and compatible servers do, so it goes beside the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kernellab.propose.models.base import Finish, Request, Usage
from kernellab.propose.models.client import Gathered, Limits, Refusal, SdkClient, count, is_json, load_sdk
from kernellab.propose.models.keys import Key, Scrubber
from kernellab.propose.models.prices import Prices

URL = "https://api.anthropic.com"
_EVENTS = ("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop")
_FINISH: dict[str, Finish] = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class AnthropicClient(SdkClient):
    def __init__(self, name: str, url: str, key: Key, scrub: Scrubber, prices: Prices, limits: Limits) -> None:
        super().__init__(load_sdk("anthropic"), name, url, key, scrub, prices, limits)

    def _open(self, key: Key, options: dict[str, Any]) -> Any:
        return self._sdk.AsyncAnthropic(api_key=key.value, base_url=self.url, **options)

    async def _ask(self, request: Request, gathered: Gathered) -> None:
        stream = await self._api.messages.create(**_arguments(request))
        gathered.begun = True
        async with stream:
            if is_json(stream.response.headers.get("content-type", "")):  # a server that does not stream
                await stream.response.aread()
                _take_whole(json.loads(stream.response.text), gathered)
                return
            async for event in stream:
                _take(event.model_dump(warnings=False), gathered)


def _arguments(request: Request) -> dict[str, Any]:
    given: dict[str, Any] = {
        "system": request.system or None,
        "stop_sequences": list(request.stop) or None,
        "extra_body": None if request.temperature is None else {"temperature": request.temperature},
    }
    return {
        "model": request.model,
        "messages": [m.model_dump() for m in request.messages],
        "max_tokens": request.max_tokens,
        "stream": True,
        **{name: value for name, value in given.items() if value is not None},
    }


def _take(event: Any, gathered: Gathered) -> None:
    if not isinstance(event, Mapping):
        raise ValueError(f"a {type(event).__name__} instead of an object")
    kind, delta = event.get("type"), event.get("delta") or {}
    gathered.known = gathered.known or kind in _EVENTS
    if kind == "message_start":
        _count((event.get("message") or {}).get("usage"), gathered)
    elif kind == "content_block_delta":
        gathered.alive()
        if isinstance(delta.get("text"), str):
            gathered.add(delta["text"])
    elif kind == "message_delta":
        _count(event.get("usage"), gathered)
        _end(delta.get("stop_reason"), gathered)
    elif kind == "message_stop":
        gathered.ended = gathered.finish is not None


def _take_whole(data: Any, gathered: Gathered) -> None:
    if not isinstance(data, Mapping):
        raise ValueError(f"a {type(data).__name__} instead of an object")
    gathered.known = True
    _count(data.get("usage"), gathered)
    blocks = data.get("content")
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(text := block.get("text"), str):
            gathered.add(text)
    _end(data.get("stop_reason"), gathered)
    gathered.ended = gathered.finish is not None


def _end(reason: object, gathered: Gathered) -> None:
    if reason == "refusal":
        raise Refusal("its stop reason is a refusal")
    if isinstance(reason, str):
        gathered.finish = _FINISH.get(reason, "other")


def _count(usage: object, gathered: Gathered) -> None:
    """Input comes with the start, output with the end; input_tokens leaves the cached ones out, ours has them in."""
    if not isinstance(usage, Mapping):
        return
    known = gathered.usage
    fresh, read = count(usage.get("input_tokens")), count(usage.get("cache_read_input_tokens"))
    made = count(usage.get("cache_creation_input_tokens"))
    gathered.usage = Usage(
        tokens_in=known.tokens_in if fresh is None else fresh + (read or 0) + (made or 0),
        tokens_out=known.tokens_out if (out := count(usage.get("output_tokens"))) is None else out,
        tokens_cached=known.tokens_cached if read is None else read,
    )
