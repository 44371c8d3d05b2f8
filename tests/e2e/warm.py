"""A klab that has loaded its commands already: it forks a process for every request, which then is klab, from its arguments to
its exit code. Loading takes more than a second, and most tests of a command ask for a dozen. So it also loads what commands
import when they are called, and makes typer's table of commands once.
What else it is to load stands in its arguments.

A request is a line of JSON: arguments, working folder, environment, and files for the two streams. The answer is the exit code,
the number of the session that the process had to itself, and the processor time that it took.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from functools import cache
from typing import Any

import typer.main

CALLED_FOR = """
    api build.c candidate certify.export certify.issue certify.recheck cli.app report.audit report.trial_proof
    search.proposers.tuner studies.conduct suite.conduct targets.cpu_c targets.cuda_cpp targets.cuda_triton tools.context
""".split()  # noqa: SIM905


def main() -> None:
    for name in (*(f"kernellab.{part}" for part in CALLED_FOR), *sys.argv[1:]):
        importlib.import_module(name)
    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(sys.modules["kernellab.cli.app"].app)
    from kernellab.cli.entry import main as klab

    gc.collect()
    gc.freeze()  # no command has to look through all this again when it ends

    for line in sys.stdin.buffer:
        if os.fork() == 0:
            become(json.loads(line))
            klab()
            return
        pid, status, used = os.wait4(-1, 0)
        print(os.waitstatus_to_exitcode(status), pid, used.ru_utime + used.ru_stime, flush=True)


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
