"""From what a person writes after --model to a model: openai:NAME@URL, openai:NAME, anthropic:NAME, replay:RUN."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from kernellab.core.errors import UsageError
from kernellab.propose.models import anthropic_client, openai_client
from kernellab.propose.models.anthropic_client import AnthropicClient
from kernellab.propose.models.client import Limits
from kernellab.propose.models.keys import ANTHROPIC, OPENAI, OWN, Key, Scrubber, read_key
from kernellab.propose.models.openai_client import OpenAIClient
from kernellab.propose.models.prices import Prices, load_prices
from kernellab.propose.models.replay import ReplayModel

FORMS = "openai:NAME, openai:NAME@URL, anthropic:NAME, anthropic:NAME@URL or replay:RUN"
AnyModel = OpenAIClient | AnthropicClient | ReplayModel
_PROVIDERS: dict[str, tuple[type[OpenAIClient] | type[AnthropicClient], str, str]] = {
    "openai": (OpenAIClient, openai_client.URL, OPENAI),
    "anthropic": (AnthropicClient, anthropic_client.URL, ANTHROPIC),
}


def open_model(
    locator: str, *, environ: Mapping[str, str] = os.environ, limits: Limits | None = None, prices: Prices | None = None
) -> AnyModel:
    """Makes no call. The keys of the big providers go to those providers only; other servers get KLAB_MODEL_KEY."""
    provider, rest = check_locator(locator, environ)
    if provider == "replay":
        return ReplayModel(Path(rest))
    name, url = _split(rest, environ)
    make, home, variable = _PROVIDERS[provider]
    key = _key(url or home, home, variable, environ)
    return make(name, url or home, key, Scrubber.of_environment(environ), prices or load_prices(), limits or Limits())


def check_locator(locator: str, environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Provider and the rest of it; what names no model is refused before anything is opened."""
    provider, _, rest = locator.partition(":")
    if provider == "replay" and rest:
        return provider, rest
    if provider not in _PROVIDERS or not rest:
        raise UsageError(f"'{_hidden(locator, environ)}' names no model", f"write {FORMS}")
    _split(rest, environ)
    return provider, rest


def _split(rest: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """NAME@URL; names hold colons and slashes (qwen2.5-coder:7b, org/model), and may hold an @ too."""
    for scheme in ("@http://", "@https://"):
        name, found, tail = rest.rpartition(scheme)
        if found:
            return _checked(name, (scheme + tail).removeprefix("@"), environ)
    if "://" in rest:
        raise UsageError(f"'{_hidden(rest, environ)}' has an address that is not http or https", f"write {FORMS}")
    return rest, ""


def _checked(name: str, url: str, environ: Mapping[str, str]) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not name or not good:
        raise UsageError(f"'{_hidden(name + '@' + url, environ)}' is not NAME@URL", f"write {FORMS}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("an address with a user, a password or a query is not taken: it would stand in the record",
                         f"put the key into {OWN} and leave it out of the address")  # fmt: skip
    return name, url.rstrip("/")


def _key(url: str, home: str, variable: str, environ: Mapping[str, str]) -> Key:
    if urlsplit(url).hostname == urlsplit(home).hostname:
        return read_key((variable, OWN), True, environ)
    return read_key((OWN,), False, environ)


def _hidden(text: str, environ: Mapping[str, str]) -> str:
    """A person may paste a key where the name of a model belongs."""
    return Scrubber.of_environment(environ)(text)
