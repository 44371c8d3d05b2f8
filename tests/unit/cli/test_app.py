"""The boundary: exit codes and messages. Whole commands are in tests/e2e."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from kernellab.cli import app as cli
from kernellab.core.errors import EnvironmentFault, LedgerFault, TaskRefused, UsageError

Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["klab", *arguments])
        monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return int(str(code or 0)), printed.out, printed.err

    return run


COMMANDS = ["doctor", "tasks", "init", "demo", "run", "build", "verify", "bench", "show", "audit", "results", "replay", "resume",
            "prune", "generate", "compile", "select", "best", "explain", "exec", "mcp"]  # fmt: skip
PROTOCOL = {"mcp"}  # its standard output belongs to the client


def test_every_command_is_there_and_speaks_json(main: Main) -> None:
    there = {c.name or c.callback.__name__.replace("_", "-") for c in cli.app.registered_commands if c.callback}
    assert there >= set(COMMANDS)
    for command in sorted(there - PROTOCOL):
        code, out, _ = main(command, "--help")
        assert code == 0
        assert "--json" in out


@pytest.mark.parametrize("fault", [UsageError("what", "how"), TaskRefused("what", "how"), EnvironmentFault("what", "how"), LedgerFault("what", "how")],
                         ids=lambda f: type(f).__name__)  # fmt: skip
def test_a_foreseen_fault_is_a_message_a_fix_and_its_exit_code(
    fault: UsageError, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise fault

    monkeypatch.setattr(cli.pages, "tasks", failing)
    code, out, err = main("tasks", "--json")
    assert code == fault.exit_code
    assert err.splitlines() == ["klab: what", "fix:  how"]
    assert json.loads(out) == {"status": "error", "reason": "what", "fix": "how", "exit_code": code}


def test_a_fault_of_the_operating_system_is_an_environment_fault(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr(cli.pages, "tasks", failing)
    code, _, err = main("tasks")
    assert code == 5
    assert "Permission denied: /some/file" in err


def test_the_memory_running_out_is_an_environment_fault(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise MemoryError("Unable to allocate 36.4 TiB")

    monkeypatch.setattr(cli.pages, "tasks", failing)
    code, _, err = main("tasks")
    assert code == 5
    assert "36.4 TiB" in err


def test_ctrl_c_names_resume_and_gives_130(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.pages, "tasks", interrupted)
    code, _, err = main("tasks")
    assert code == 130
    assert "klab resume" in err


def test_the_exit_code_of_a_command_is_klabs(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.pages, "doctor", lambda *_: False)
    assert main("doctor")[0] == 5
    monkeypatch.setattr(cli.pages, "doctor", lambda *_: True)
    assert main("doctor")[0] == 0


def test_a_command_alone_prints_help(main: Main) -> None:
    code, out, err = main()
    assert code in (0, 2)
    assert "audit" in out + err


def test_a_fix_with_brackets_is_printed_as_it_is(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise EnvironmentFault("no compiler", "pip install 'kernellab[zig]'")

    monkeypatch.setattr(cli.pages, "tasks", failing)
    assert "pip install 'kernellab[zig]'" in main("tasks")[2]
