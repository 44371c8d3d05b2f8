"""klab mcp: the laboratory as tools of a coding agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kernellab.cli.options import HERE, Compiler, SandboxTier, WorkspaceFolder


def mcp(
    http: Annotated[
        str | None, typer.Option(help="PORT: streamable HTTP on loopback instead of stdio; 0: any.")
    ] = None,
    task: Annotated[
        list[Path] | None, typer.Option("--task", help="A task file that agents may use; repeatable.")
    ] = None,
    workspace: WorkspaceFolder = HERE,
    model: Annotated[str, typer.Option(help="For generate_kernel: openai:NAME@URL, ... (default: KLAB_MODEL).")] = "",
    timeout_s: Annotated[float, typer.Option(help="Seconds that any one call may take; 0: no limit.")] = 0.0,
    compiler: Compiler = None,
    sandbox: SandboxTier = None,
) -> None:
    """Serve the tools over MCP: on standard input and output, or with --http on loopback behind a token."""
    from kernellab.core.loopback import bind, read_address, read_token
    from kernellab.tools import ToolContext, Workspace
    from kernellab.tools.context import task_files
    from kernellab.tools.http import PATH, serve_http
    from kernellab.tools.mcp import Hands, serve_stdio
    from kernellab.tools.quota import Deadline

    settings = {k: v for k, v in (("compiler", compiler), ("sandbox", sandbox)) if v is not None}
    context = ToolContext(Workspace(workspace), task_files(task or []), settings, model, Deadline(timeout_s))
    context.choose()
    if http is None:
        serve_stdio(Hands(context))
        return
    host, port = read_address(http)
    token, fresh = read_token()
    with bind(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"klab: MCP at http://{shown}:{listening.getsockname()[1]}{PATH}\n")
        sys.stderr.write(f"token: {token}\n" if fresh else "token: the one in KLAB_MCP_TOKEN\n")
        sys.stderr.flush()
        serve_http(Hands(context, token), listening, token)
