"""generate_kernel(): recipes with the choices asked for, and sources from a model with every call on record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernellab.core.errors import UsageError
from kernellab.ledger.journal import read_entries
from kernellab.propose.models import ModelFault
from kernellab.report.audit import audit
from kernellab.tools import Spec, ToolContext, generate_kernel
from kernellab.tools.records import Generated, NotGenerated
from support.model_server import Error, ModelServer, Say

from .conftest import GOOD

ANSWER = f"<think>one pass is enough</think>\n<answer>\n```python\n{GOOD}\n```\n</answer>"
CUBE = Spec(task="cube")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    pytest.importorskip("openai")
    with ModelServer([Say(ANSWER)]) as made:
        yield made


def asking(context: ToolContext, server: ModelServer) -> ToolContext:
    return replace(context, model=f"openai:tiny@{server.url}")


@pytest.mark.backend_c
def test_a_recipe_with_the_choices_that_were_asked_for(context: ToolContext) -> None:
    made = generate_kernel("softmax", {"BLOCK": [384, 256]}, base="softmax_blocked", context=context)
    assert isinstance(made, Generated)
    assert made.space["BLOCK"] == [384, 256]
    assert made.params["BLOCK"] == 384
    assert made.params["UNROLL"] == made.space["UNROLL"][0]
    text = context.workspace.candidate(context.workspace.kernel(made.kernel)).text
    assert text.rstrip().splitlines()[-1].startswith("SPACE = {'BLOCK': [384, 256]")
    assert "softmax_online" in made.others


@pytest.mark.backend_c
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"spec": "softmax", "base": "softmax_magic"}, "is no c recipe"),
        ({"spec": "softmax", "meta_space": {"WARP": [3]}}, "no recipe has all"),
        ({"spec": "softmax", "meta_space": {"BLOCK": []}}, "has no choices for 'BLOCK'"),
        ({"spec": "cube"}, "cube has no c recipes"),
        ({"spec": "softmaxx"}, "there is no task"),
        ({"spec": "cube", "strategy": "write"}, "needs a model"),
    ],
)  # fmt: skip
def test_refuses_what_there_is_not(
    context: ToolContext, arguments, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("KLAB_MODEL", raising=False)
    with pytest.raises(UsageError, match=words):
        generate_kernel(**arguments, backend="c", context=context)


@pytest.mark.parametrize("strategy", ["write", "translate"])
def test_a_model_writes_and_the_call_is_recorded(context: ToolContext, server: ModelServer, strategy) -> None:  # type: ignore[no-untyped-def]
    made = generate_kernel(CUBE, {"PAD": [7], "UNKNOWN": [1]}, strategy, backend="c", context=asking(context, server))
    assert isinstance(made, Generated)
    assert made.space == {"PAD": [7]}
    assert made.tokens == 18
    folder = Path(made.folder)
    assert [e.kind for e in read_entries(folder)] == ["run", "model-intent", "model-call", "end"]
    assert audit(folder, made.ledger_root).problems == []
    prompt = str(server.seen[0].body)
    assert "5003" not in prompt
    assert "2 * x ** 3" in prompt


def test_a_reply_that_cannot_be_read_is_asked_for_again_with_what_was_missing(
    context: ToolContext, server: ModelServer
) -> None:
    server.script = [Say("I would rather not"), Say(ANSWER)]
    made = generate_kernel(CUBE, strategy="write", backend="c", context=asking(context, server))
    assert isinstance(made, Generated)
    assert server.calls == 2
    assert "could not be read" in str(server.seen[1].body)


def test_a_model_that_never_answers_in_the_format_is_a_result(context: ToolContext, server: ModelServer) -> None:
    server.script = [Say("no")]
    made = generate_kernel(CUBE, strategy="write", backend="c", context=asking(context, server))
    assert isinstance(made, NotGenerated)
    assert (made.status, made.attempts, server.calls) == ("format-failure", 3, 3)
    assert "answer" in made.reason


def test_a_wrong_key_is_told_with_its_remedy(context: ToolContext, server: ModelServer) -> None:
    server.script = [Error(401, "no such key")]
    with pytest.raises(ModelFault) as caught:
        generate_kernel(CUBE, strategy="write", backend="c", context=asking(context, server))
    assert "KLAB_MODEL_KEY" in caught.value.fix


def test_a_kernel_of_the_workspace_is_what_a_model_is_to_better(context: ToolContext, server: ModelServer) -> None:
    base = context.workspace.keep_kernel(GOOD.replace("cube", "kube"), "mine", CUBE, "c")
    generate_kernel(CUBE, strategy="write", backend="c", base=base.id, context=asking(context, server))
    assert "kube" in str(server.seen[0].body)
