"""From a policy's whole reply to what is tried: its file, at the first choice of every parameter."""

from __future__ import annotations

from dataclasses import dataclass

from kernellab.core.records import Param
from kernellab.propose.prompts import CodeReply, FormatFailure, parse_reply
from kernellab.propose.prompts.parse import MOST_REPLY

_CUT = MOST_REPLY + 1  # so that a longer one is still seen to be too long


@dataclass(frozen=True)
class ReadReply:
    source: str
    params: dict[str, Param]
    think: str = ""


def read_reply(text: str, backend: str) -> ReadReply | FormatFailure:
    """`backend`: the language that was asked for."""
    found = parse_reply("write", text[:_CUT], backend)
    if isinstance(found, FormatFailure):
        return found
    assert isinstance(found, CodeReply)
    first = {name: choices[0] for name, choices in found.space.items()}
    return ReadReply(found.source, first, found.think)


def reply_bytes(text: str) -> bytes:
    """As it is stored. What is no text, a lone surrogate, stays what it is: it must be read the same way again."""
    return text[:_CUT].encode("utf-8", "surrogatepass")


def reply_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
