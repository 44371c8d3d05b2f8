"""MCP over streamable HTTP, for this machine alone: loopback, a bearer token, and no page of a browser's.

Covered: a request without the token (401, before anything is read), another Host (a rebound DNS name), a foreign Origin,
an address that other machines reach. Not covered: other users of this machine who can read this process's environment.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kernellab.core.loopback import loopback_names
from kernellab.tools.mcp import Hands, make_server, missing

PATH = "/mcp"
_MOST_BODY = 2 << 20
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guarded(app: App, token: str) -> App:
    """Lets through what carries the token; compared in constant time."""
    wanted = b"bearer " + token.encode()

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await app(scope, receive, send)
        found = [value for name, value in scope.get("headers", ()) if name.lower() == b"authorization"]
        given = found[0][:7].lower() + found[0][7:] if len(found) == 1 else b""
        if scope["type"] == "http" and hmac.compare_digest(given, wanted):
            return await app(scope, receive, send)
        body = b'{"error":"a bearer token is needed: the one that klab mcp printed, or KLAB_MCP_TOKEN"}'
        head = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer"),
                (b"content-length", str(len(body)).encode())]  # fmt: skip
        await send({"type": "http.response.start", "status": 401, "headers": head})
        return await send({"type": "http.response.body", "body": body})

    return gate


def serve_http(hands: Hands, listening: socket.socket, token: str) -> None:
    """Until it is interrupted."""
    server = make_server(hands)
    try:
        import uvicorn
        from mcp.server.transport_security import TransportSecuritySettings
    except ImportError:
        raise missing() from None
    port = listening.getsockname()[1]
    names = loopback_names(port)
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=_MOST_BODY
    )
    config = uvicorn.Config(guarded(app, token), log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        hands.close()
