from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernellab.core.errors import EXIT_ENVIRONMENT, KlabError, UsageError
from kernellab.propose.models import ModelFault, open_model
from kernellab.propose.models.client import SdkClient
from support.model_server import Say

from .conftest import KEY, Serve, ask

ENV = {"OPENAI_API_KEY": "sk-openai-000000", "ANTHROPIC_API_KEY": "sk-anthropic-000", "KLAB_MODEL_KEY": KEY}


def opened(locator: str, environ: dict[str, str] = ENV) -> SdkClient:
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    model = open_model(locator, environ=environ)
    assert isinstance(model, SdkClient)
    return model


@pytest.mark.parametrize(
    ("locator", "name", "url"),
    [
        ("openai:gpt-4o", "gpt-4o", "https://api.openai.com/v1"),
        ("openai:qwen2.5-coder:7b@http://localhost:11434/v1/", "qwen2.5-coder:7b", "http://localhost:11434/v1"),
        ("openai:org/model@home@https://[::1]:8000/v1", "org/model@home", "https://[::1]:8000/v1"),
        ("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5", "https://api.anthropic.com"),
        ("anthropic:c@http://127.0.0.1:1", "c", "http://127.0.0.1:1"),
    ],
)
def test_reads_provider_name_and_address(locator: str, name: str, url: str) -> None:
    model = opened(locator)
    assert (model.name, model.url) == (name, url)


@pytest.mark.parametrize(
    "locator",
    ["", "gpt-4o", "openai:", "gemini:x", "replay:", "openai:@http://x/v1", "openai:m@http://", "openai:m@ftp://x/v1",
     "openai:m@http://x:port/v1", "openai:m@http://x:99999/v1", "openai:m@http://user:word@x/v1", "openai:m@http://x/v1?key=1"],
)  # fmt: skip
def test_what_names_no_model_is_an_error_that_shows_the_forms(locator: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(locator, environ=ENV)
    assert "openai:NAME@URL" in caught.value.fix or "KLAB_MODEL_KEY" in caught.value.fix
    assert "user:word" not in str(caught.value)


def test_a_key_pasted_as_a_model_does_not_show() -> None:
    with pytest.raises(UsageError) as caught:
        open_model(KEY, environ=ENV)
    assert KEY not in str(caught.value) + caught.value.fix


@pytest.mark.parametrize(
    ("locator", "variable"), [("openai:gpt-4o", "OPENAI_API_KEY"), ("anthropic:c", "ANTHROPIC_API_KEY")]
)
def test_a_missing_key_names_its_variable(locator: str, variable: str) -> None:
    pytest.importorskip("openai")
    with pytest.raises(UsageError, match=variable) as caught:
        open_model(locator, environ={})
    assert f"export {variable}=" in caught.value.fix


def test_a_providers_key_goes_to_no_other_server(serve: Serve) -> None:
    server = serve(Say())
    with opened(f"openai:m@{server.url}", {k: v for k, v in ENV.items() if k != "KLAB_MODEL_KEY"}) as model:
        model.complete(ask())
    with opened(f"openai:m@{server.url}") as model:
        model.complete(ask())
    assert [seen.key for seen in server.seen] == ["no-key-was-set", KEY]


def test_a_run_without_model_calls_cannot_be_replayed(tmp_path: Path) -> None:
    with pytest.raises(KlabError, match="holds no ledger"):
        open_model(f"replay:{tmp_path / 'none'}")


WITHOUT = """
import sys
sys.modules["openai"] = sys.modules["anthropic"] = None
from kernellab.core.errors import KlabError
from kernellab.propose.models import open_model
for locator in ("openai:m@http://127.0.0.1:1/v1", "anthropic:m@http://127.0.0.1:1"):
    try:
        open_model(locator)
    except KlabError as fault:
        print(type(fault).__name__, fault.kind, fault.exit_code, fault.fix)
"""


def test_a_missing_extra_is_an_error_that_names_it() -> None:
    """In a process of its own, which has neither package."""
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    line = f"ModelFault no-extra {EXIT_ENVIRONMENT} pip install 'kernellab[llm]'\n"
    assert done.stdout == 2 * line
    assert ModelFault("no-extra", "").stops


def test_neither_package_is_imported_before_it_is_needed() -> None:
    code = "import sys, kernellab.propose.models; print([m for m in sys.modules if m in ('openai', 'anthropic')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
