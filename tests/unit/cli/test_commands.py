"""One command of many: what is asked for is there, and for everything else all of them are."""

from __future__ import annotations

from kernellab.cli.app import app
from kernellab.cli.commands import name_of


def test_the_command_that_is_named_is_the_only_one() -> None:
    verify = app.with_command(["verify", "kernel.py"])
    assert [name_of(c) for c in verify.registered_commands] == ["verify"]
    assert verify.registered_groups == []
    study = app.with_command(["study", "run", "H1"])
    assert ([g.name for g in study.registered_groups], study.registered_commands) == (["study"], [])


def test_every_command_can_be_named() -> None:
    for command in app.registered_commands:
        assert app.with_command([name_of(command)]).registered_commands == [command]


def test_without_a_command_and_with_one_that_is_not_there_all_are() -> None:
    for arguments in ([], ["--help"], ["verfiy"], ["--version"]):
        assert app.with_command(arguments) is app
