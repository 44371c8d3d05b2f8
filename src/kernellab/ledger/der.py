"""As much DER as a time stamp needs, read strictly: definite lengths in their shortest form, short tags, no rest."""

from __future__ import annotations

from dataclasses import dataclass

BOOLEAN, INTEGER, OCTETS, NULL, OID, TIME, SEQUENCE, SET = 0x01, 0x02, 0x04, 0x05, 0x06, 0x18, 0x30, 0x31
EXPLICIT_0 = 0xA0


@dataclass(frozen=True)
class Node:
    """One value: its tag, what it holds, and all of its bytes."""

    tag: int
    held: bytes
    raw: bytes

    def parts(self) -> list[Node]:
        found, rest = [], self.held
        while rest:
            node, rest = _first(rest)
            found.append(node)
        return found

    def want(self, tag: int) -> Node:
        if self.tag != tag:
            raise ValueError(f"DER tag {self.tag:#04x} where {tag:#04x} belongs")
        return self

    def inner(self, tag: int) -> list[Node]:
        return self.want(tag).parts()

    def text(self) -> str:
        """An object identifier in dots."""
        self.want(OID)
        numbers, value = [], 0
        for byte in self.held:
            value = value << 7 | byte & 0x7F
            if not byte & 0x80:
                numbers.append(value)
                value = 0
        first = min(numbers[0] // 40, 2) if numbers else 0
        return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:]))) if numbers else ""


def read(data: bytes) -> Node:
    node, rest = _first(data)
    if rest:
        raise ValueError(f"{len(rest)} bytes follow the DER value")
    return node


def _first(data: bytes) -> tuple[Node, bytes]:
    if len(data) < 2 or data[0] & 0x1F == 0x1F:
        raise ValueError("not DER: a value is cut short or has a long tag")
    length, start = data[1], 2
    if length & 0x80:
        count = length & 0x7F
        start += count
        length = int.from_bytes(data[2:start], "big")
        if not 1 <= count <= 4 or len(data) < start or length < 0x80 or data[2] == 0:
            raise ValueError("not DER: a length is indefinite, too long or not in its shortest form")
    if len(data) < start + length:
        raise ValueError("not DER: a value is cut short")
    end = start + length
    return Node(data[0], data[start:end], data[:end]), data[end:]


def value(tag: int, *held: bytes) -> bytes:
    inside = b"".join(held)
    size = len(inside)
    if size < 0x80:
        return bytes([tag, size]) + inside
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + inside
