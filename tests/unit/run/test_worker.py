"""How the end of a process is put into words. The clock itself is tested on samples (test_samples.py) and baselines."""

from __future__ import annotations

import signal

import pytest

from kernellab.run.worker import describe


@pytest.mark.parametrize(
    ("status", "log", "cause", "words"),
    [
        (signal.SIGSEGV, "", "crash", "SIGSEGV now: an access outside its buffers"),
        (signal.SIGBUS, "", "crash", "SIGBUS now"),
        (signal.SIGILL, "", "crash", "SIGILL now"),
        (signal.SIGXFSZ, "", "output-flood", "printed more"),
        (signal.SIGXCPU, "", "timeout", "processor time"),
        (3 << 8, "first\nlast words\n", "crash", "exit code 3) now: last words"),
        (1 << 8, "MemoryError", "memory", "memory limit"),
        (0, "", "crash", "exit code 0) now: no message"),
        (40, "", "crash", "signal 40 now"),
    ],
)
def test_every_ending_has_a_cause_and_words(status: int, log: str, cause: str, words: str) -> None:
    found, reason = describe(int(status), "now", log)
    assert found == cause
    assert words in reason
