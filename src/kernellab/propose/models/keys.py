"""API keys: read from the environment, held where no repr, record, log or error message can show them.

Covered: every text that comes from a server or an SDK is scrubbed of all known keys before anyone sees it, and a
prompt that holds one is refused. Not covered: a key that a server sends back in another encoding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernellab.core.errors import UsageError

OPENAI, ANTHROPIC, OWN = "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KLAB_MODEL_KEY"
VARIABLES = (OPENAI, ANTHROPIC, OWN)
STANDS_FOR_NONE = "no-key-was-set"
_SHORTEST = 8  # shorter ones ("none", "EMPTY", "ollama") are what local servers are given, and occur in any prose


@dataclass(frozen=True)
class Key:
    """`variable` is where it comes from, for messages; `value` leaves only in the header of a request."""

    variable: str
    value: str = field(repr=False)

    def __str__(self) -> str:
        return f"the key in {self.variable}"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled: it would leave the process")


class Scrubber:
    """Takes keys out of texts."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._keys = tuple(k for k in keys if len(k.value) >= _SHORTEST and k.value != STANDS_FOR_NONE)

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> Scrubber:
        return cls(Key(name, environ[name].strip()) for name in VARIABLES if environ.get(name))

    def plus(self, key: Key) -> Scrubber:
        return Scrubber((*self._keys, key))

    def __call__(self, text: str) -> str:
        """Also makes it valid Unicode: a lone surrogate of a server's could not be recorded."""
        clean = text.encode(errors="replace").decode()
        for key in self._keys:
            clean = clean.replace(key.value, f"[{key.variable}]")
        return clean

    def found(self, text: str) -> str | None:
        """The variable whose key this text holds."""
        return next((key.variable for key in self._keys if key.value in text), None)


def read_key(variables: tuple[str, ...], required: bool, environ: Mapping[str, str] = os.environ) -> Key:
    """The first of these variables that is set. Local servers ask for none, and then get a stand-in."""
    for name in variables:
        if value := environ.get(name, "").strip():
            if not value.isascii() or not value.isprintable() or " " in value:
                raise UsageError(
                    f"{name} does not hold a key: it has spaces or other characters that no key has",
                    f"export {name}=... with the key alone, as the provider shows it",
                )
            return Key(name, value)
    if required:
        raise UsageError(f"no key: {' and '.join(variables)} not set", f"export {variables[0]}=YOUR-KEY")
    return Key(variables[0], STANDS_FOR_NONE)
