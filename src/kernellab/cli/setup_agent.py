"""klab setup-agent: the MCP entry for a coding agent, in the file where that agent looks for it."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kernellab.cli.options import HERE, Json, WorkspaceFolder
from kernellab.cli.pages import print_json
from kernellab.cli.screen import Screen
from kernellab.core.errors import UsageError
from kernellab.core.files import write_file

NAME = "kernellab"
_out = Screen()


@dataclass(frozen=True)
class Agent:
    """`file`: below the project's folder, or below the home folder; `key`: under which its servers stand."""

    title: str
    file: str
    key: str
    at_home: bool = False

    def path(self, project: Path) -> Path:
        return (Path.home() if self.at_home else project) / self.file


AGENTS = {
    "claude-code": Agent("Claude Code", ".mcp.json", "mcpServers"),
    "cursor": Agent("Cursor", ".cursor/mcp.json", "mcpServers"),
    "vscode": Agent("VS Code", ".vscode/mcp.json", "servers"),
    "gemini": Agent("Gemini CLI", ".gemini/settings.json", "mcpServers"),
    "codex": Agent("Codex", ".codex/config.toml", "mcp_servers", at_home=True),
}


def setup_agent(
    agent: Annotated[str, typer.Argument(help=f"One of {', '.join(AGENTS)}.")],
    project: Annotated[Path, typer.Option(help="The project's folder.")] = Path(),
    task: Annotated[
        list[Path] | None, typer.Option(help="A task file that the agent may use; may be repeated.")
    ] = None,
    workspace: WorkspaceFolder = HERE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the file as it would be; write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Write the entry that lets a coding agent call klab over MCP. Other entries of its file stay as they are."""
    if agent not in AGENTS:
        raise UsageError(
            f"there is no agent '{agent}' here", f"one of {', '.join(AGENTS)}; docs/agents.md has the entry"
        )
    if not project.is_dir():
        raise UsageError(f"{project} is no folder", "give the project's folder: --project FOLDER")
    chosen, tasks = AGENTS[agent], [str(t.resolve()) for t in task or []]
    path = chosen.path(project)
    entry = _entry(tasks, workspace)
    text = _with_entry(path, chosen, entry)
    changed = text != _read(path)
    if changed and not dry_run:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text)
    if as_json:
        status = "as-it-was" if not changed else "not-written" if dry_run else "written"
        print_json({"status": status, "agent": agent, "file": str(path), "entry": entry, "text": text})
        return
    said = "has this entry already" if not changed else "would be" if dry_run else "written for"
    _out.print(f"{path}: {said}{'' if not changed or dry_run else ' ' + chosen.title}", markup=False, soft_wrap=True)
    if dry_run and changed:
        _out.print(text, markup=False, soft_wrap=True)


def _entry(tasks: list[str], workspace: Path) -> dict[str, Any]:
    """This environment's klab by its whole path: an agent is started with another PATH."""
    own = Path(sys.executable).with_name("klab")
    command = str(own) if own.exists() else shutil.which("klab") or "klab"
    arguments = ["mcp", "--workspace", str(workspace)]
    return {"command": command, "args": [*arguments, *(part for task in tasks for part in ("--task", task))]}


def _read(path: Path) -> str:
    try:
        return path.read_text() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", "mend it, or add the entry by hand (docs/agents.md)"
        ) from None


def _with_entry(path: Path, agent: Agent, entry: dict[str, Any]) -> str:
    text = _read(path)
    return _toml(path, agent, text, entry) if path.suffix == ".toml" else _json(path, agent, text, entry)


def _json(path: Path, agent: Agent, text: str, entry: dict[str, Any]) -> str:
    try:
        data = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise UsageError(
            f"{path} is no JSON: {error}", "mend it (comments are no JSON), or add the entry by hand"
        ) from None
    servers = data.setdefault(agent.key, {}) if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        raise UsageError(f"{path} holds something else than servers under '{agent.key}'", "add the entry by hand")
    if servers.get(NAME) == entry:
        return text
    if NAME in servers:
        raise UsageError(f"{path} has another entry '{NAME}'", "remove it there first; nothing was changed")
    servers[NAME] = entry
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _toml(path: Path, agent: Agent, text: str, entry: dict[str, Any]) -> str:
    """Added at the end, so that what a person wrote keeps its comments and its order."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no TOML: {error}", "mend it, or add the entry by hand") from None
    there = data.get(agent.key, {})
    if isinstance(there, dict) and there.get(NAME) == entry:
        return text
    if not isinstance(there, dict) or NAME in there:
        raise UsageError(f"{path} has another entry '{NAME}'", "remove it there first; nothing was changed")
    lines = [f"[{agent.key}.{NAME}]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items())]
    return (text.rstrip() + "\n\n" if text.strip() else "") + "\n".join(lines) + "\n"
