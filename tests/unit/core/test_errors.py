from __future__ import annotations

import traceback

import pytest

from kernellab.core.errors import EnvironmentFault, KlabError, LedgerFault, TaskRefused, UsageError


@pytest.mark.parametrize(
    ("kind", "code"),
    [(UsageError, 2), (TaskRefused, 2), (EnvironmentFault, 5), (LedgerFault, 5), (KlabError, 5)],
)
def test_every_error_carries_what_fix_and_its_exit_code(kind: type[KlabError], code: int) -> None:
    error = kind("what happened", "how to fix it")
    assert (error.what, error.fix, str(error), error.exit_code) == (
        "what happened",
        "how to fix it",
        "what happened",
        code,
    )


def test_a_traceback_ends_with_the_fix() -> None:
    assert "".join(traceback.format_exception(UsageError("what", "how"))).endswith("UsageError: what\nfix: how\n")
    assert "fix" not in "".join(traceback.format_exception(UsageError("what")))
