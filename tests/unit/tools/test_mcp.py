"""Behind the protocol: every call gets an answer, secrets and keys do not pass, resources stay inside."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.tools import ToolContext
from kernellab.tools.mcp import Hands, make_server
from kernellab.tools.records import Compiled
from kernellab.tools.replies import LIMIT

from .conftest import GOOD

pytestmark = pytest.mark.backend_c
SPEC = {"task": "cube", "shape": "4096"}
KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture
def hands(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> Hands:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Hands(context, "the-token-of-this-server")


def call(hands: Hands, name: str, **arguments: Any) -> tuple[dict[str, Any], bool]:
    made = hands.call(name, arguments, threading.Event())
    assert made.tokens <= LIMIT
    data = json.loads(made.text)
    assert isinstance(data, dict)
    return data, made.error


@pytest.mark.heavy
def test_a_reply_that_would_be_too_long_is_cut_and_whole_behind_its_link(hands: Hands) -> None:
    source = GOOD.replace("    kernel(", "    raise ValueError('w ' * 20000)\n    kernel(")
    data, error = call(hands, "compile", src=source, spec=SPEC)
    assert (data["status"], error) == ("invalid", False)
    many = {f"P{i}": "x" * 150 for i in range(100)}
    made = hands.call("compile", {"src": GOOD, "spec": SPEC, "params": many, "flags": []}, threading.Event())
    assert made.error
    long = hands.call(
        "generate_kernel", {"spec": {"task": "softmax"}, "meta_space": {"BLOCK": list(range(3000))}}, threading.Event()
    )
    assert long.tokens <= LIMIT
    assert json.loads(long.text)["kernel"].startswith("k")
    whole = next(link.uri for link in long.links if link.uri.startswith("klab://reply/"))
    assert json.loads(hands.read(whole))["space"]["BLOCK"] == list(range(3000))


def test_keys_the_token_and_paths_do_not_pass(hands: Hands, context: ToolContext) -> None:
    home = str(context.workspace.folder)
    said = f"{KEY} and the-token-of-this-server in {home}/x/secret.py"
    source = GOOD.replace("    kernel(", f"    raise ValueError({said!r})\n    kernel(")
    made = hands.call("compile", {"src": source, "spec": SPEC}, threading.Event())
    assert not made.error
    assert "secret.py" in made.text
    for word in (KEY, "the-token-of-this-server", home):
        assert word not in made.text


def test_failures_are_answers(hands: Hands) -> None:
    for name, arguments in (
        ("verify", {"artifact": "a0123456789abcdef"}),
        ("compile", {"src": GOOD, "spec": {"task": "/tmp/evil.py"}}),
        ("compile", {"src": GOOD, "spec": {"task": "cube", "shape": "4096x2"}}),
        ("explain", {"run": "../../etc"}),
        ("best", {"run": "none"}),
        ("nothing", {}),
    ):
        data, error = call(hands, name, **arguments)
        assert error, name
        assert data["status"] == "error"
        assert data["reason"]
        assert data["fix"]


@pytest.mark.heavy
def test_reads_what_it_links_to_and_nothing_else(hands: Hands, context: ToolContext, artifact: Compiled) -> None:
    assert hands.read(f"klab://artifact/{artifact.artifact}/source") == GOOD
    assert hands.read(f"klab://kernel/{artifact.kernel}/source") == GOOD
    assert "# Candidate format (C)" in hands.read("klab://task/cube/c")
    secret = context.workspace.folder.parent / "secret.txt"
    secret.write_text("mine")
    for uri in (
        "klab://artifact/../../secret.txt/source", f"klab://artifact/{artifact.artifact}/plans",
        f"klab://artifact/{artifact.artifact}/../../../secret.txt", "klab://run/../ledger", "klab://run/%2e%2e/ledger",
        "klab://run/none/ledger", "klab://reply/r99", "klab://task/../c", f"file://{secret}", "klab://", "",
        f"klab://kernel/{artifact.kernel}/source\n", "klab://run/" + "x" * 5000 + "/ledger",
    ):  # fmt: skip
        with pytest.raises(UsageError):
            hands.read(uri)


def test_without_the_package_the_error_names_the_extra(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    with pytest.raises(EnvironmentFault) as caught:
        make_server(Hands(context))
    assert "kernellab[mcp]" in caught.value.fix


class Broken(dict[str, str]):
    """A context that comes apart."""

    def __contains__(self, name: object) -> bool:
        raise RuntimeError("a leg has come off in /home/me/context")


def test_a_fault_of_our_own_ends_the_call_and_not_the_server(
    context: ToolContext, capfd: pytest.CaptureFixture[str]
) -> None:
    hands = Hands(replace(context, files=Broken()))
    data, error = call(hands, "compile", src=GOOD, spec=SPEC)
    assert error
    assert "fault of its own" in data["reason"]
    assert "a leg has come off" not in json.dumps(data)
    assert "a leg has come off" in capfd.readouterr().err
    assert call(hands, "best")[1] is False
