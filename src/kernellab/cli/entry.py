"""The first step of every command: Ctrl-C means the same while the commands are still being loaded as it does later."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys


def main() -> None:
    atexit.register(_say_no_more)  # the first to come is the last to be called
    usual = signal.getsignal(signal.SIGINT)
    if usual != signal.SIG_IGN:  # whoever started klab in the background may have it so
        signal.signal(signal.SIGINT, _leave)
    from kernellab.graph.ahead import start

    start(sys.argv[1:])
    gc.disable()  # imports cause many collections, and modules are there to stay
    from kernellab.cli.app import main as commands

    gc.enable()
    signal.signal(signal.SIGINT, usual)
    gc.freeze()  # what was loaded stays to the end: nobody has to look through it for garbage
    try:
        commands()
    finally:
        gc.freeze()  # the interpreter looks through everything before it ends: with torch imported, for half a second


def _say_no_more() -> None:
    """What is left to the interpreter is said by libraries: Triton's bindings call everything that was frozen a leak."""
    if "triton" in sys.modules and sys.stderr is not None:
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _leave(*_: object) -> None:
    """End at once. Nothing was begun, and an interrupted import would raise some misleading error."""
    os.write(sys.stderr.fileno(), b"klab: interrupted before anything was begun\nfix:  start it again\n")
    os._exit(130)
