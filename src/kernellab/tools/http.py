"""MCP over streamable HTTP, for this machine alone: loopback, a bearer token, and no page of a browser's.

Covered: a request without the token (401, before anything is read), another Host (a rebound DNS name), a foreign Origin,
an address that other machines reach. Not covered: other users of this machine who can read this process's environment.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.tools.mcp import Hands, make_server, missing

TOKEN_VARIABLE = "KLAB_MCP_TOKEN"
PATH = "/mcp"
_SHORTEST_TOKEN = 16
_MOST_BODY = 2 << 20
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def read_token(environ: dict[str, str] | None = None, variable: str = TOKEN_VARIABLE) -> tuple[str, bool]:
    """The token, and whether it was made just now."""
    given = (os.environ if environ is None else environ).get(variable, "")
    if not given:
        return secrets.token_urlsafe(32), True
    if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable() or " " in given:
        raise UsageError(f"{variable} is no token: at least {_SHORTEST_TOKEN} letters and digits, no spaces",
                         "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes one")  # fmt: skip
    return given, False


def read_address(text: str) -> tuple[str, int]:
    """PORT or HOST:PORT, on loopback; port 0 lets the system choose."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"'{text}' is no port", "write --http 8765, or 127.0.0.1:8765")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UsageError(f"{host} is not loopback: other machines could reach the laboratory",
                         "leave the host out; reach it from elsewhere through ssh -L")  # fmt: skip
    return "127.0.0.1" if host == "localhost" else host, int(port)


def bind(host: str, port: int, option: str = "--http") -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(64)
    except OSError as err:
        made.close()
        raise EnvironmentFault(
            f"port {port} cannot be had: {err.strerror}", f"choose another with {option} PORT"
        ) from None
    return made


def loopback_names(port: int) -> list[str]:
    """What a browser or client on this machine may call the server; any other Host is a rebound DNS name."""
    return [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"]


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
    uvicorn.Server(config).run(sockets=[listening])
