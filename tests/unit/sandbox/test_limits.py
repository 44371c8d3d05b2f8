from __future__ import annotations

import os
import threading

from kernellab.sandbox.limits import Limits, threads_of


def test_counts_the_threads_of_a_user() -> None:
    done = threading.Event()
    helper = threading.Thread(target=done.wait)
    helper.start()
    counted = threads_of(os.getuid())
    done.set()
    helper.join()
    assert counted >= 2
    assert threads_of(2**31 - 5) == 0


def test_limits_have_sane_defaults() -> None:
    limits = Limits()
    assert 0 < limits.wall_s <= limits.cpu_s
    assert limits.scratch < limits.memory
