"""A suite small enough to publish: every run of it that has ended is pruned as a single one would be.

The root stays as it is. It names each run by its first entries, and what pruning adds comes after them, so that the audit
still finds the runs it names.
"""

from __future__ import annotations

from pathlib import Path

from kernellab.ledger.suite_records import RAN
from kernellab.search.prune import Pruned, prune
from kernellab.suite.folder import SuiteFolder


def prune_suite(folder: Path) -> Pruned:
    """All of its runs together. One that broke off is left as it is: it is evidence, and it may end without a signature."""
    known = SuiteFolder(folder)
    known.require_sound()
    done = [prune(known.run_folder(task.task)) for task in known.tasks.values() if task.run and task.outcome in RAN]
    return Pruned(sum(d.removed for d in done), sum(d.freed_bytes for d in done), known.run.root)
