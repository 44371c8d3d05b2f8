"""A klab that has loaded its commands already: it forks a process for every request, which then is klab, from its arguments to
its exit code. Loading takes more than a second, and most tests of a command ask for a dozen.

A request is a line of JSON: arguments, working folder, environment, and files for the two streams. The answer is the exit code
and the number of the session that the process had to itself.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    import kernellab.cli.app  # noqa: F401
    from kernellab.cli.entry import main as klab

    for line in sys.stdin.buffer:
        if os.fork() == 0:
            become(json.loads(line))
            klab()
            return
        pid, status = os.wait()
        print(os.waitstatus_to_exitcode(status), pid, flush=True)


def become(request: dict[str, Any]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    streams = (os.devnull, os.O_RDONLY), (request["out"], os.O_WRONLY), (request["err"], os.O_WRONLY)
    for fd, (path, mode) in enumerate(streams):
        opened = os.open(path, mode)
        os.dup2(opened, fd)
        os.close(opened)
    sys.argv = request["arguments"]


if __name__ == "__main__":
    main()
