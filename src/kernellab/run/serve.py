"""The loop of a process that runs calls when told to: a sample of a candidate, or a baseline.

The laboratory trusts nothing here that shares a process with a candidate, which may overwrite it. All it can gain is
outputs, and those are judged elsewhere.
"""

from __future__ import annotations

import os
import struct
from typing import Any

MAX_COMMAND = 1 << 17


def serve(commands: int, replies: int, calls: Any) -> None:
    """Each command is an 8-byte token and the numbers of calls to run; the reply is the token."""
    while data := os.read(commands, MAX_COMMAND):
        for number in struct.unpack_from(f"<{(len(data) - 8) // 4}I", data, 8):
            for function, arguments in calls[number]:
                function(*arguments)
        os.write(replies, data[:8])
