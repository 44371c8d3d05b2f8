"""The pages over HTTP, for this machine and for whoever has the token; GET and HEAD only, and nothing is ever written.

Covered: a request without the token (401) or with a wrong one (403), another Host (a rebound DNS name), framing, scripts
from a ledger, addresses that mean to be paths (a run is named by a digest of its place). Not covered: other users of this
machine who can read this process's memory or its terminal; the token is in the first address that is opened.
"""

from __future__ import annotations

import hmac
import socket
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from kernellab.core.errors import EnvironmentFault, KlabError, UsageError
from kernellab.core.loopback import bind, loopback_names
from kernellab.view.frame import policy
from kernellab.view.site import Page, Site

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

EXTRA = "pip install 'kernellab[view]'"
_SECOND_WORD = "the address that klab view printed has the token; open that one"


def require_packages() -> None:
    """EnvironmentFault, with the extra's name, where a package is missing."""
    for name in ("starlette", "uvicorn"):
        try:
            __import__(name)
        except ImportError:
            raise EnvironmentFault(f"klab view needs the package '{name}', which is not installed", EXTRA) from None


def make_app(site: Site, token: str, port: int) -> Starlette:
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, RedirectResponse, Response
    from starlette.routing import Route

    hosts, cookie = loopback_names(port), f"klab-view-{port}"

    def page(made: Page) -> Response:
        return Response(made.html, made.status, _headers(), "text/html; charset=utf-8")

    def refused(request: Request) -> Response | None:
        if request.headers.get("host", "") not in hosts:
            return page(site.refusal(421, "this name does not lead here", "open the address with 127.0.0.1"))
        given = request.cookies.get(cookie, "") or request.headers.get("authorization", "").removeprefix("Bearer ")
        asked = parse_qs(request.url.query)
        if "token" in asked:
            if not _same(asked.pop("token")[0], token):
                return page(site.refusal(403, "the token is a wrong one", _SECOND_WORD))
            answer = RedirectResponse(_local(request, asked), 303, _headers())
            answer.set_cookie(cookie, token, httponly=True, samesite="strict", path="/")
            return answer
        if not given:
            return page(site.refusal(401, "a token is needed", _SECOND_WORD))
        if not _same(given, token):
            return page(site.refusal(403, "the token is of another klab view", _SECOND_WORD))
        return None

    def answer(request: Request) -> Response:
        if (no := refused(request)) is not None:
            return no
        path, query = request.path_params["path"], parse_qs(request.url.query)
        if not path.endswith(".json"):
            return page(site.page(path, query))
        try:
            told = site.live(path, query)
        except KlabError as fault:
            return JSONResponse({"error": fault.what}, 404 if isinstance(fault, UsageError) else 200, _headers())
        return Response(status_code=204, headers=_headers()) if told is None else JSONResponse(told, 200, _headers())

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET"])])


def serve(site: Site, token: str, listening: socket.socket) -> None:
    """Until it is interrupted."""
    import uvicorn

    app = make_app(site, token, listening.getsockname()[1])
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


def listen(port: int) -> socket.socket:
    return bind("127.0.0.1", port, "--port")


def open_site(root: Path) -> Site:
    return Site(root, served=True)


def _local(request: Request, query: dict[str, list[str]]) -> str:
    """The same page without the token. One slash: two would name another machine."""
    path = "/" + request.path_params["path"].lstrip("/\\")
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _headers() -> dict[str, str]:
    return {
        "content-security-policy": policy(served=True), "x-content-type-options": "nosniff", "x-frame-options": "DENY",
        "referrer-policy": "no-referrer", "cache-control": "no-store", "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }  # fmt: skip
