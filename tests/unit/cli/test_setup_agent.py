"""klab setup-agent: one entry more in an agent's file, and nothing else changed."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from kernellab.cli import app as cli
from kernellab.cli.setup_agent import AGENTS

Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Main:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["klab", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(str(end.value.code or 0)), printed.out, printed.err

    return run


@pytest.mark.parametrize("agent", AGENTS)
def test_the_entry_stands_where_the_agent_looks(agent: str, main: Main, tmp_path: Path) -> None:
    code, _, err = main("setup-agent", agent, "--project", tmp_path)
    assert code == 0, err
    path = AGENTS[agent].path(tmp_path)
    data = (tomllib.loads if path.suffix == ".toml" else json.loads)(path.read_text())
    entry = data[AGENTS[agent].key]["kernellab"]
    assert entry["args"][0] == "mcp"
    assert entry["command"].endswith("klab")
    before = path.read_bytes()
    assert "has this entry already" in main("setup-agent", agent, "--project", tmp_path)[1]
    assert path.read_bytes() == before


def test_other_entries_and_settings_stay(main: Main, tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text('{"mcpServers": {"other": {"command": "x"}}, "theme": "dark"}')
    assert main("setup-agent", "claude-code", "--project", tmp_path)[0] == 0
    data = json.loads(path.read_text())
    assert (data["theme"], data["mcpServers"]["other"]) == ("dark", {"command": "x"})
    assert set(data["mcpServers"]) == {"other", "kernellab"}


def test_comments_of_a_toml_file_stay(main: Main, tmp_path: Path) -> None:
    path = AGENTS["codex"].path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('# mine\nmodel = "m"\n[mcp_servers.other]\ncommand = "x"\n')
    assert main("setup-agent", "codex")[0] == 0
    assert path.read_text().startswith(
        '# mine\nmodel = "m"\n[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.kernellab]\n'
    )
    assert set(tomllib.loads(path.read_text())["mcp_servers"]) == {"other", "kernellab"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {"kernellab": {"command": "mine"}}}', "has another entry 'kernellab'"),
        ("{ // comment\n}", "is no JSON"),
        ('{"mcpServers": []}', "something else than servers"),
        ("[1]", "something else than servers"),
    ],
)
def test_what_cannot_be_added_to_is_left_alone(text: str, words: str, main: Main, tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text)
    code, _, err = main("setup-agent", "claude-code", "--project", tmp_path)
    assert (code, words in err) == (2, True), err
    assert path.read_text() == text


def test_a_dry_run_writes_nothing(main: Main, tmp_path: Path) -> None:
    code, out, _ = main("setup-agent", "cursor", "--project", tmp_path, "--dry-run")
    assert (code, '"kernellab"' in out) == (0, True)
    assert list(tmp_path.rglob("mcp.json")) == []


def test_unknown_agents_and_folders_are_usage_errors(main: Main, tmp_path: Path) -> None:
    assert main("setup-agent", "nobody")[0] == 2
    assert main("setup-agent", "cursor", "--project", tmp_path / "absent")[0] == 2
