"""A key, a request, small limits, and clients of both kinds that talk to a scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kernellab.propose.models import Limits, Price, Prices, Request, open_model
from kernellab.propose.models.client import SdkClient
from support.model_server import HELLO, ModelServer, Script

KEY = "sk-secret-4711-abcdef"
PRICES = Prices("2025-01-01", {"m": Price(2.0, 1.0, 10.0)})
PATIENT = Limits(connect_s=600.0, first_s=600.0, total_s=600.0)
Serve = Callable[..., ModelServer]
Connect = Callable[..., SdkClient]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither keys nor prices of the person who runs the tests."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KLAB_MODEL_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("KLAB_MODEL_KEY", KEY)


def ask(content: str = "what is a kernel?", **changes: object) -> Request:
    return Request.model_validate({"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 100,
                                   **changes})  # fmt: skip


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda *script, **options: stack.enter_context(ModelServer(_script(script), **options))


def _script(steps: tuple[Any, ...]) -> Script:
    if len(steps) == 1 and callable(steps[0]):
        only: Script = steps[0]
        return only
    return steps or HELLO


@pytest.fixture
def connect() -> Iterator[Connect]:
    """A client of this provider for that server."""
    pytest.importorskip("openai", reason="the extra 'llm' is not installed")
    pytest.importorskip("anthropic", reason="the extra 'llm' is not installed")
    with ExitStack() as stack:

        def make(server: ModelServer, provider: str = "openai", limits: Limits = PATIENT) -> SdkClient:
            url = server.url if provider == "openai" else server.root
            opened = open_model(f"{provider}:m@{url}", limits=limits, prices=PRICES)
            assert isinstance(opened, SdkClient)
            return stack.enter_context(opened)

        yield make
