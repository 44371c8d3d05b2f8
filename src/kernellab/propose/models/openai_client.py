"""Any server that speaks the OpenAI chat API: hosted, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kernellab.propose.models.base import Finish, Request, Usage
from kernellab.propose.models.client import Gathered, Limits, Refusal, SdkClient, count, is_json, load_sdk
from kernellab.propose.models.keys import Key, Scrubber
from kernellab.propose.models.prices import Prices

URL = "https://api.openai.com/v1"
_FINISH: dict[str, Finish] = {"stop": "stop", "length": "length"}


class OpenAIClient(SdkClient):
    def __init__(self, name: str, url: str, key: Key, scrub: Scrubber, prices: Prices, limits: Limits) -> None:
        super().__init__(load_sdk("openai"), name, url, key, scrub, prices, limits)

    def _open(self, key: Key, options: dict[str, Any]) -> Any:
        return self._sdk.AsyncOpenAI(api_key=key.value, base_url=self.url, **options)

    async def _ask(self, request: Request, gathered: Gathered) -> None:
        stream = await self._api.chat.completions.create(**self._arguments(request))
        gathered.begun = True
        async with stream:
            if is_json(stream.response.headers.get("content-type", "")):  # a server that does not stream
                await stream.response.aread()
                self._take(json.loads(stream.response.text), gathered)
                gathered.ended = gathered.finish is not None
                return
            async for chunk in stream:
                self._take(chunk.model_dump(warnings=False), gathered)
            gathered.ended = gathered.finish is not None

    def _arguments(self, request: Request) -> dict[str, Any]:
        """OpenAI's own newer models know only max_completion_tokens, other servers often only max_tokens."""
        system = [{"role": "system", "content": request.system}] if request.system else []
        given: dict[str, Any] = {
            "temperature": request.temperature, "seed": request.seed, "stop": list(request.stop) or None,
        }  # fmt: skip
        limit = "max_completion_tokens" if self.url == URL else "max_tokens"
        return {
            "model": request.model,
            "messages": system + [m.model_dump() for m in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            limit: request.max_tokens,
            **{name: value for name, value in given.items() if value is not None},
        }

    def _take(self, data: Any, gathered: Gathered) -> None:
        """A chunk of a stream or a whole reply: the one calls it delta, the other message."""
        if not isinstance(data, Mapping):
            raise ValueError(f"a {type(data).__name__} instead of an object")
        if isinstance(usage := data.get("usage"), Mapping):
            details = usage.get("prompt_tokens_details")
            gathered.usage = Usage(
                tokens_in=count(usage.get("prompt_tokens")), tokens_out=count(usage.get("completion_tokens")),
                tokens_cached=count(details.get("cached_tokens")) if isinstance(details, Mapping) else None,
            )  # fmt: skip
        choices = data.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else []:
            self._take_choice(choice, gathered)

    def _take_choice(self, choice: Mapping[str, Any], gathered: Gathered) -> None:
        gathered.known = True
        said = choice.get("delta") or choice.get("message") or {}
        if isinstance(refusal := said.get("refusal"), str) and refusal:
            raise Refusal(refusal)
        if isinstance(text := said.get("content"), str) and text:
            gathered.add(text)
        elif any(value for name, value in said.items() if name != "role"):  # thoughts, which servers name as they like
            gathered.alive()
        if isinstance(finish := choice.get("finish_reason"), str):
            gathered.finish = _FINISH.get(finish, "other")
            if finish == "content_filter":
                raise Refusal("its content filter ended the reply")
