"""The boundary: exit codes and messages. Whole commands are in tests/e2e."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

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


@pytest.mark.parametrize("group", [(), ("suite",), ("study",)], ids=" ".join)
def test_without_a_command_the_help_is_shown_as_it_is(group: tuple[str, ...], main: Main) -> None:
    code, out, err = main(*group)
    assert (code, out) == (2, "")
    assert err.startswith(f"Usage: {' '.join(('klab', *group))} [OPTIONS] COMMAND")
    assert "fix:" not in err


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


@pytest.mark.parametrize(
    ("arguments", "resumable"),
    [
        (["run", "softmax"], True), (["study", "run", "H1"], True), (["analyse", "x", "--follow-up"], True),
        (["tasks"], False), (["paper", "RUN"], False), (["audit", "run"], False), (["recheck", "run"], False),
        (["study", "show", "run"], False), (["analyse", "RUN"], False), ([], False),
    ],
)  # fmt: skip
def test_ctrl_c_gives_130_and_names_resume_where_trials_are_recorded(
    arguments: list[str], resumable: bool, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    monkeypatch.setattr(cli, "begun", ["klab-runs/mine"])
    code, _, err = main(*arguments)
    assert code == 130
    assert "interrupted" in err
    assert ("'klab resume klab-runs/mine'" in err) == resumable


def test_ctrl_c_before_a_run_is_begun_names_no_run(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    monkeypatch.setattr(cli, "begun", [])
    code, _, err = main("run", "softmax")
    assert code == 130
    assert "fix:  start it again" in err
    assert "resume" not in err
    assert "'klab resume mine'" in main("resume", "mine")[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "softmax", "--out", ""], ["verify", "x.py", "--task", "softmax", "--out", ""], ["demo", "--out", " "],
        ["study", "run", "H1", "--out", ""], ["analyse", ".", "--out", ""], ["results", ".", "--out", ""],
        ["paper", ".", "--out", ""], ["certify", ".", "0", "--out", ""], ["export", "x", "--as", "c", "--out", ""],
        ["generate", "softmax", "--out", ""], ["best", "--workspace", ""], ["paper", ".", "--out", "x", "--font", ""],
    ],
)  # fmt: skip
def test_an_empty_path_or_name_is_refused_wherever_one_is_given(arguments: list[str], main: Main) -> None:
    code, _, err = main(*arguments)
    assert code == 2
    assert "empty" in err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [(["run", "softmax", "--trials", "0"], "--trials"), (["analyse", ".", "--most", "0"], "--most")],
)
def test_numbers_that_leave_nothing_to_do_are_refused(arguments: list[str], option: str, main: Main) -> None:
    code, _, err = main(*arguments)
    assert code == 2
    assert option in err


def test_the_audit_of_what_is_neither_a_run_nor_a_paper_says_so(main: Main, tmp_path: Path) -> None:
    code, _, err = main("audit", "nosuch.pdf", "--run", str(tmp_path))
    assert (code, err.splitlines()[0]) == (2, "klab: there is no file nosuch.pdf")
    (tmp_path / "my_op.py").write_text("")
    code, _, err = main("audit", str(tmp_path / "my_op.py"))
    assert code == 2
    assert "is not a paper" in err
    (tmp_path / "ledger.jsonl").write_text("")
    code, _, err = main("audit", str(tmp_path / "ledger.jsonl"))
    assert code == 2
    assert f"klab audit {tmp_path} checks the run" in err


def test_a_missing_folder_and_one_without_a_ledger_are_the_same_sort_of_mistake(main: Main, tmp_path: Path) -> None:
    for command in (["show"], ["audit"], ["explain"], ["study", "show"], ["replay", "RUN", "0"]):
        for folder in (tmp_path / "nowhere", tmp_path):
            words = [str(folder) if w == "RUN" else w for w in command]
            code, _, err = main(*(words if "RUN" in command else [*words, str(folder)]))
            assert code == 2, (command, err)


def test_a_file_where_a_folder_is_needed_is_named(main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def failing(*_: object) -> None:
        (tmp_path / "file" / "sub").mkdir(parents=True)

    monkeypatch.setattr(cli.pages, "tasks", failing)
    code, _, err = main("tasks")
    assert code == 5
    assert f"{tmp_path / 'file'} is a file, not a folder" in err


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
