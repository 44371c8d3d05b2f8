"""What every server of ours has in common: an address that this machine alone reaches, and a token."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket

from kernellab.core.errors import EnvironmentFault, UsageError

TOKEN_VARIABLE = "KLAB_MCP_TOKEN"
_SHORTEST_TOKEN = 16


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
