"""The tools over the Model Context Protocol: one server, eight tools, long things by resource link.

Covered: arguments of wrong types, unknown tools, failing calls are answers and never the end of the server; replies keep
their limit; the event loop goes on while a laboratory is open, and only one is (workspace.lab); a call that its client
takes back ends at the laboratory's next word. Task files are those named when the server starts: an agent cannot name
another, since a task runs unconfined.
Not covered: an agent with a shell of its own; it can do what its user can.
"""

from __future__ import annotations

import sys
import threading
import traceback
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kernellab.core.errors import EnvironmentFault, KlabError
from kernellab.core.records import Record, dump
from kernellab.core.version import VERSION
from kernellab.propose.models.keys import Key, Scrubber
from kernellab.propose.prompts.withhold import without_paths
from kernellab.tools.calls import CALLS, Call, read_call
from kernellab.tools.context import ToolContext
from kernellab.tools.quota import Deadline
from kernellab.tools.replies import Answer, answer
from kernellab.tools.resources import TEMPLATES, Shelf, links_of

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

INSTRUCTIONS = """KernelLab judges and measures compute kernels; nothing you claim is believed, everything is measured.
list_tasks -> read klab://task/NAME/BACKEND -> write a source -> compile -> verify -> benchmark; best, explain and
contrastive_select show what was tried in this session, by the same ids.
You are never told the held-out shapes that a kernel is judged on."""


class Hands:
    """Runs calls at a context and words their answers. Has no notion of the protocol."""

    def __init__(self, context: ToolContext, token: str = "") -> None:
        self._context = context
        self.shelf = Shelf(context)
        self._scrub = Scrubber.of_environment()
        if token:
            self._scrub = self._scrub.plus(Key("KLAB_MCP_TOKEN", token))

    def call(self, name: str, arguments: dict[str, Any], cancel: threading.Event) -> Answer:
        """Blocks. Every foreseen failure is an answer: what, and how to mend it."""
        try:
            call = read_call(name, arguments)
            context = replace(self._context, deadline=Deadline(self._context.deadline.seconds, cancel))
            record = call.run(context)
            return self._answer(record)
        except KlabError as fault:
            return self._refusal(fault.what, fault.fix)
        except (OSError, MemoryError) as err:
            why = getattr(err, "strerror", None) or type(err).__name__
            return self._refusal(f"this machine failed: {why}", "look at disk space and memory")
        except Exception:  # noqa: BLE001  the boundary to the protocol: a fault of ours ends the call, not the server
            traceback.print_exc(file=sys.stderr)
            return self._refusal("the laboratory has a fault of its own", "see the server's standard error")

    def close(self) -> None:
        """The session is over: its ledger gets its end."""
        self._context.workspace.close()

    def read(self, uri: str) -> str:
        return self._scrub(self.shelf.read(uri))

    def _answer(self, record: Record) -> Answer:
        return answer(dump(record), links_of(record), self._clean, self.shelf.keep)

    def _refusal(self, what: str, fix: str) -> Answer:
        return answer({"status": "error", "reason": what, "fix": fix}, (), self._clean, self.shelf.keep, error=True)

    def _clean(self, text: str) -> str:
        return without_paths(self._scrub(text))


def missing() -> EnvironmentFault:
    return EnvironmentFault("the package 'mcp' is not installed", "pip install 'kernellab[mcp]'")


def make_server(hands: Hands) -> Server[Any]:
    """The protocol's side: lists, and every blocking call in a thread of its own."""
    try:
        import anyio
        import mcp_types as types
        from mcp.server.lowlevel import Server
        from mcp.shared.exceptions import MCPError
    except ImportError:
        raise missing() from None

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(kind) for kind in CALLS])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        cancel = threading.Event()
        try:
            work = partial(hands.call, params.name, dict(params.arguments or {}), cancel)
            made: Answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            cancel.set()
        links = [types.ResourceLink(uri=link.uri, name=link.name) for link in made.links]
        return types.CallToolResult(content=[types.TextContent(text=made.text), *links], is_error=made.error)

    async def list_resources(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource(uri=i.uri, name=i.name) for i in hands.shelf.listed()]
        )

    async def list_templates(_: Any, __: Any) -> types.ListResourceTemplatesResult:
        found = [types.ResourceTemplate(uri_template=uri, name=name) for uri, name in TEMPLATES.items()]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await anyio.to_thread.run_sync(hands.read, uri)
        except KlabError as fault:
            raise MCPError(
                code=types.INVALID_PARAMS, message=without_paths(f"{fault.what} (fix: {fault.fix})")
            ) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, text=text, mime_type="text/plain")]
        )

    return Server(
        "kernellab", version=VERSION, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip


def _described(kind: type[Call]) -> Any:
    import mcp_types as types

    return types.Tool(name=kind.name, description=kind.about, input_schema=_lean(kind.model_json_schema()))


def _lean(schema: Any) -> Any:
    """Without the titles and docstrings that pydantic adds: every agent pays for them at every start."""
    if isinstance(schema, list):
        return [_lean(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: _lean(v) for k, v in schema.items() if not (k in ("title", "description") and isinstance(v, str))}


def serve_stdio(hands: Hands) -> None:
    """Until the client closes our standard input."""
    server = make_server(hands)
    import anyio
    from mcp.server.stdio import stdio_server

    async def main() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        anyio.run(main)
    finally:
        hands.close()
