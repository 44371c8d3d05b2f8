"""Errors for people: what happened, and how to fix it. A bad candidate is never one of these: it is a record."""

from __future__ import annotations

EXIT_BETTER = 0
EXIT_USAGE = 2
EXIT_NOTHING_BETTER = 3
EXIT_NOTHING_VERIFIED = 4
EXIT_ENVIRONMENT = 5
EXIT_BUSY = 7
"""The machine was too busy to tell how fast a kernel is. (6: a paper or table checked in part.)"""


class KlabError(Exception):
    """Base of everything that the command line turns into an exit code."""

    exit_code = EXIT_ENVIRONMENT

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        if fix:
            self.add_note(f"fix: {fix}")  # a traceback ends with it, where nobody catches it


class UsageError(KlabError):
    """The call is off: unknown task, unreadable file, contradicting flags."""

    exit_code = EXIT_USAGE


class TaskRefused(UsageError):
    """A task whose judge could be fooled, or that does not run.

    `cause` is one word where it matters which: "broken" (its own code fails or does not end), "random", "training".
    """

    def __init__(self, what: str, fix: str = "", cause: str = "") -> None:
        super().__init__(what, fix)
        self.cause = cause


class EnvironmentFault(KlabError):
    """The machine lacks something: a compiler, a sandbox, disk space, rights."""


class LedgerFault(EnvironmentFault):
    """The record cannot be trusted or cannot be written."""
