"""Runs the compiler. Runs inside the build sandbox; no candidate Python is in this process, only C text and commands."""

from __future__ import annotations

import json
import os
import subprocess

SOURCE, BUILT = "candidate.c", "candidate.so"
_LOG_KEPT = 16 << 10


def main(fds: list[int]) -> int:
    """Sandbox entry: request on the first descriptor, JSON report on the second, machine code on the third."""
    request = json.loads(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
    os.environ.update(request["environment"])
    os.environ["TMPDIR"] = os.getcwd()
    # __DATE__ and __TIME__: the same source gives the same machine code on any day
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with open(SOURCE, "w") as file:
        file.write(request["source"])
    code = 0
    with open("log", "w+b") as log:
        for command in request["commands"]:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
            if code != 0:
                break
        log.seek(0)
        text = log.read(_LOG_KEPT).decode(errors="replace")
    if code == 0:
        with open(BUILT, "rb") as built:
            size = os.fstat(built.fileno()).st_size
            os.sendfile(fds[2], built.fileno(), 0, size)
    os.pwrite(fds[1], json.dumps({"code": code, "log": text}).encode(), 0)
    return 0


def nothing(fds: list[int]) -> int:
    """An entry that ends at once: what a confined start costs."""
    return len(fds) * 0
